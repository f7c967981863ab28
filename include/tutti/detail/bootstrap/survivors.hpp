// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/outcome.hpp>
#include <tutti/packing.hpp>
#include <tutti/rendezvous.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::detail {

/// The rendezvous of those that are left of a world, over the lines between the lowest of them and each other. If
/// another one goes meanwhile, its exchanges fail on all. Used by one thread at a time.
class survivors {
 public:
  /// The host's side.
  survivors(rank_type me, std::vector<rank_type> members, std::vector<channel> guests, duration patience)
      : members_(std::move(members)), rank_(place_of(me)), lines_(std::move(guests)), patience_(patience) {}
  /// A guest's.
  survivors(rank_type me, std::vector<rank_type> members, channel host, duration patience)
      : members_(std::move(members)), rank_(place_of(me)), patience_(patience) {
    lines_.push_back(std::move(host));
  }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(members_.size()); }

  /// The number by which the others reach this host.
  [[nodiscard]] std::string const& local_host() const noexcept { return host_; }
  void local_host(std::string host) { host_ = std::move(host); }

  /// What they are called together; rank 0's counts.
  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  void name(std::string text) { name_ = std::move(text); }

  /// Who they were in the world that failed.
  [[nodiscard]] std::vector<rank_type> const& parent_ranks() const noexcept { return members_; }

  std::vector<std::string> exchange(std::string_view mine) { return rank_ == 0 ? serve(mine) : ask(mine); }

 private:
  [[nodiscard]] rank_type place_of(rank_type me) const noexcept {
    rank_type place = 0;
    while (members_[place] != me) {
      ++place;
    }
    return place;
  }

  std::vector<std::string> serve(std::string_view mine) {
    std::vector<std::string> all(size());
    all[0] = mine;
    time_point const deadline = steady_now() + patience_;
    rank_failure why;
    for (rank_type r = 1; r < size() && why.kind == failure::none; ++r) {
      frame f;
      io state = lines_[r - 1].send(deadline);
      state = state == io::done ? lines_[r - 1].receive(f, UINT64_MAX, deadline) : state;
      if (state == io::done && f.kind == bootstrap_frame_kind::text) {
        all[r] = std::move(f.payload);
      } else {
        why = {"shrinking: rank " + std::to_string(members_[r]) + " of the world that failed " +
                   (state == io::late ? "did not answer within " + seconds_text(patience_) : "is gone, too"),
               failure::join,
               {members_[r]}};
      }
    }
    bool const failed = why.kind != failure::none;
    std::string const reply = failed ? encode(why) : packer().texts(all).take();
    for (channel& line : lines_) {
      line.queue(failed ? bootstrap_frame_kind::failure : bootstrap_frame_kind::table, reply);
    }
    for (channel& line : lines_) {
      line.send(deadline);  // who has gone meanwhile is missed by the next exchange, or by the world
    }
    if (failed) {
      throw error(why.kind, why.text).between(members_[0], why.at_fault);
    }
    return all;
  }

  std::vector<std::string> ask(std::string_view mine) {
    time_point const deadline = steady_now() + 2 * patience_;  // the host keeps the time
    frame answer;
    lines_[0].queue(bootstrap_frame_kind::text, mine);
    io state = lines_[0].send(deadline);
    state = state == io::done ? lines_[0].receive(answer, UINT64_MAX, deadline) : state;
    if (state == io::done && answer.kind == bootstrap_frame_kind::table) {
      unpacker u(answer.payload);
      auto all = u.texts();
      if (u.done() && all.size() == size()) {
        return all;
      }
    }
    rank_failure why;
    if (state != io::done || answer.kind != bootstrap_frame_kind::failure || !decode(answer.payload, why)) {
      why = {"shrinking: rank " + std::to_string(members_[0]) + " of the world that failed is gone, too",
             failure::join,
             {members_[0]}};
    }
    throw error(why.kind, why.text).between(members_[rank_], why.at_fault);
  }

  std::vector<rank_type> members_;  // by the numbers of the beginning
  rank_type rank_;
  std::vector<channel> lines_;  // to all guests, or to the host
  duration patience_;
  std::string name_;
  std::string host_;
};

}  // namespace tutti::detail
