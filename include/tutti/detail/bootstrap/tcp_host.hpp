// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/entrance.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/bootstrap/pending_hello.hpp>
#include <tutti/detail/bootstrap/tcp_side.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/handshake_server.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/packing.hpp>
#include <tutti/extend/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The side of rank 0: accepts the hellos, then serves exchanges over the same connections. Rank 0's own thread does
/// that, inside the calls; nothing is served between them.
///
/// No connection is trusted before a valid hello. A connection that sends other bytes, too many or none is refused or
/// left aside, and never delays the others. It is told nothing of the job; neither is a hello of another job or world
/// size.
///
/// With a secret, a connection proves that it knows it before its hello, and is told nothing before. Without one, a
/// valid hello proves nothing. Its sender can take a seat, which the right process then finds taken; close its
/// connection, which frees the seat; and send texts, which are bounded.
class tcp_host final : public tcp_side {
 public:
  TUTTI_COLD tcp_host(descriptor listener, membership const& me)
      : me_(with_finite_patience(me)),
        place_(net::local_address(listener.get()).text()),
        listener_(std::move(listener)),
        roll_(me.size, place_),
        guests_(me.size),
        entrance_(net::proof_key(me.secret), me.size, text_of_world(me.job, me.size)) {
    net::await_data(listener_.get());
    roll_.note(me.rank, this_member(me.role));
    try {
      gather();
    } catch (error& e) {
      dismiss({e.what(), e.kind(), e.at_fault()});
      e.set_ranks(0, e.at_fault());
      throw;
    }
    listener_.reset();
    entrance_.clear();
    announce();
  }

  TUTTI_COLD std::vector<std::string> exchange(std::string_view text) override {
    std::vector<std::string> texts(me_.size);
    std::vector<bool> presence(me_.size);
    texts[0] = text;
    presence[0] = true;
    reporting([&] { collect(texts, presence); });
    reporting([&] { deliver(bootstrap_frame_kind::table, packer().texts(texts).take()); });
    return texts;
  }

  /// Not a loopback address, unless all ranks are on this host.
  [[nodiscard]] std::string local_host() const override { return reach_; }
  [[nodiscard]] std::vector<std::string> refusals() const override { return refusals_; }

  // Callbacks of the entrance.

  [[nodiscard]] TUTTI_COLD static pending_hello begin(descriptor s) {
    std::string peer = net::peer_address(s.get()).text();
    return {channel(std::move(s)), std::move(peer)};
  }
  [[nodiscard]] static net::handshake_state hear(pending_hello& p) { return p.hear(tcp_hello::limit); }
  void turn_away(pending_hello const& p, char const* reason) { refuse(p.peer, reason); }
  TUTTI_COLD void arrive(pending_hello p) {
    tcp_hello hello;
    if (!hello.decode(p.frame.payload)) {
      return refuse(p.peer, "not a greeting of tutti");
    }
    if (p.rank != no_rank && p.rank != hello.rank) {
      return refuse(p.peer, describe(hello.rank, hello.process) + " has proved to be another rank");
    }
    if (hello.job != me_.job || hello.size != me_.size || hello.rank >= me_.size || p.line.unread() != 0) {
      refuse(p.peer, objection_to(hello));
      p.line.queue(bootstrap_frame_kind::refusal, {});
      p.line.flush();
      return;
    }
    if (verdict_) {
      ++dismissal_count_;
      return tell(p.line, *verdict_);
    }
    if (guests_[hello.rank]) {
      check_seat(hello.rank);
    }
    try {
      roll_.note(hello.rank, hello.process);
    } catch (error const& e) {
      tell(p.line, {e.what(), e.kind(), e.at_fault()});
      throw;
    }
    guests_[hello.rank] = std::move(p.line);
  }

 private:
  static constexpr duration moment = std::chrono::seconds(1);  ///< time in which latecomers are told of the failure

  /// Waits until all have come.
  TUTTI_COLD void gather() {
    time_point const deadline = steady_now() + me_.patience;
    while (!roll_.complete()) {
      listen(deadline);
      for (rank_type r = 1; roll_.complete() && r < me_.size; ++r) {
        check_seat(r);
      }
      // The clock decides, not poll: a chatty connection must not postpone the deadline.
      if (!roll_.complete() && steady_now() >= deadline) {
        roll_.fail_missing(me_.patience, refusal_text());
      }
    }
  }

  /// Tells the members that have joined why it failed, and for a moment members on their way.
  TUTTI_COLD void dismiss(rank_failure cause) {
    verdict_ = std::move(cause);
    std::size_t remaining = me_.size - 1;
    for (channel& guest : guests_) {
      remaining -= guest ? 1U : 0U;
      tell(guest, *verdict_);
    }
    time_point const deadline = steady_now() + (std::min)(me_.patience, moment);
    while (dismissal_count_ < remaining && steady_now() < deadline) {
      listen(deadline);
    }
  }

  /// Waits once and handles the events.
  TUTTI_COLD void listen(time_point deadline) {
    std::vector<pollfd> set(1, {listener_.get(), POLLIN, 0});
    for (channel const& guest : guests_) {
      set.push_back({guest.fd(), POLLIN, 0});  // an absent one has -1, which poll skips
    }
    entrance_.append_to(set);
    poll_until(set, deadline);
    for (rank_type r = 1; r < me_.size; ++r) {
      if (set[1 + r].revents != 0) {
        check_seat(r);
      }
    }
    entrance_.hear_ready(set, 1 + me_.size, *this);
    if (set[0].revents == 0) {
      return;
    }
    entrance_.accept_some(listener_.get(), *this);
    if (entrance_.resource_error() != 0 && entrance_.empty() && !verdict_) {
      roll_.fail("rank 0 cannot accept connections at " + place_ + ": " + describe_errno(entrance_.resource_error()) +
                     "; allow it a descriptor for each of the " + std::to_string(me_.size) + " ranks (ulimit -n)",
                 {0});
    }
  }

  /// Frees the seat of a rank that has left, or that sends more than its hello before it is welcome.
  TUTTI_COLD void check_seat(rank_type r) {
    io const state = guests_[r].fill(1);
    if (state == io::open) {
      return;
    }
    refuse(net::peer_address(guests_[r].fd()).text(),
           roll_.description(r) + (state == io::hangup ? " closed its connection" : " sent more than a greeting") +
               " before all ranks had joined");
    guests_[r].close();
    roll_.strike_off(r);
  }

  /// For rank 0 alone: an unknown peer is not told why it was refused.
  [[nodiscard]] TUTTI_COLD std::string objection_to(tcp_hello const& hello) const {
    if (hello.job != me_.job) {
      return describe(hello.process) + " belongs to job '" + hello.job + "', this is '" + me_.job + "'";
    }
    if (hello.size != me_.size) {
      return describe(hello.rank, hello.process) + " expects a world of " + std::to_string(hello.size) +
             " ranks, but rank 0 expects " + std::to_string(me_.size) + " (TUTTI_SIZE)";
    }
    return hello.rank >= me_.size ? describe(hello.process) + " says it is rank " + std::to_string(hello.rank) +
                                        " of " + std::to_string(hello.size)
                                  : describe(hello.rank, hello.process) + " sent more than a greeting";
  }

  TUTTI_COLD void refuse(std::string const& peer, std::string const& reason) {
    if (refusals_.size() < 64) {
      refusals_.push_back(peer + ": " + reason);
    }
  }

  /// The first few refusals, for an error that they may explain.
  [[nodiscard]] TUTTI_COLD std::string refusal_text() const {
    constexpr std::size_t limit = 4;
    std::string text;
    for (std::size_t i = 0; i < (std::min)(refusals_.size(), limit); ++i) {
      text += (i == 0 ? "" : ", ") + refusals_[i];
    }
    return refusals_.size() > limit ? text + " and others" : text;
  }

  TUTTI_COLD void announce() {
    reach_ = me_.size == 1 ? net::loopback_host() : std::string();
    for (rank_type r = 1; r < me_.size; ++r) {
      net::address const address = net::local_address(guests_[r].fd());
      if (r == 1 || !address.is_loopback()) {
        reach_ = address.host();
      }
      if (!address.is_loopback()) {
        break;
      }
    }
    reporting([&] { deliver(bootstrap_frame_kind::welcome, reach_); });
  }

  TUTTI_COLD void collect(std::vector<std::string>& texts, std::vector<bool>& presence) {
    time_point const deadline = steady_now() + me_.patience;
    std::vector<pollfd> set(me_.size);
    for (;;) {
      std::vector<rank_type> absent;
      set[0] = {-1, 0, 0};
      for (rank_type r = 1; r < me_.size; ++r) {
        if (!presence[r]) {
          take(r, texts[r], presence);
        }
        if (!presence[r]) {
          if (!guests_[r]) {
            fail(roll_.description(r) + " is not connected any more", {r});
          }
          absent.push_back(r);
        }
        set[r] = {presence[r] ? -1 : guests_[r].fd(), POLLIN, 0};
      }
      if (absent.empty()) {
        return;
      }
      if (steady_now() >= deadline) {
        fail(list_ranks(absent) + " of " + std::to_string(me_.size) + " did not come within " +
                 seconds_text(me_.patience),
             absent);
      }
      poll_until(set, deadline);
      for (rank_type r = 1; r < me_.size; ++r) {
        if (set[r].revents != 0 && guests_[r].fill() == io::hangup) {
          take(r, texts[r], presence);
          if (!presence[r]) {
            guests_[r].close();
            fail(roll_.description(r) + " closed its connection", {r});
          }
        }
      }
    }
  }

  TUTTI_COLD void take(rank_type r, std::string& text, std::vector<bool>& presence) {
    bootstrap_frame f;
    std::uint64_t const limit = text_limit(me_.size);
    auto const result = guests_[r].next(f, limit);
    if (result == channel::parse_result::incomplete) {
      return;
    }
    if (result == channel::parse_result::too_long) {
      fail(roll_.description(r) + " gave a text of more than " + std::to_string(limit) + " bytes", {r});
    }
    if (result != channel::parse_result::frame || f.kind != bootstrap_frame_kind::text) {
      fail(roll_.description(r) + " sent bytes that do not belong to an exchange, or were changed on their way", {r});
    }
    text = std::move(f.payload);
    presence[r] = true;
  }

  /// Writes one frame to all guests in turn; the system usually buffers it at once.
  TUTTI_COLD void deliver(bootstrap_frame_kind kind, std::string_view payload) {
    time_point const deadline = steady_now() + me_.patience;
    for (rank_type r = 1; r < me_.size; ++r) {
      if (guests_[r]) {
        guests_[r].queue(kind, payload);
        if (guests_[r].send(deadline) != io::complete) {
          fail(roll_.description(r) + " closed its connection or does not read from it", {r});
        }
      }
    }
  }

  [[noreturn]] void fail(std::string const& text, std::vector<rank_type> at_fault) const {
    throw error(failure::join, "exchange at " + place_ + ": " + text).set_ranks(0, std::move(at_fault));
  }

  /// Calls `work`; if that fails, all guests are told why.
  template <class Work>
  TUTTI_COLD void reporting(Work&& work) {
    try {
      work();
    } catch (error& e) {
      for (channel& guest : guests_) {
        tell(guest, {e.what(), e.kind(), e.at_fault()});
      }
      e.set_ranks(me_.rank, e.at_fault());
      throw;
    }
  }

  TUTTI_COLD static void tell(channel& line, rank_failure const& cause) {
    if (line) {
      line.queue(bootstrap_frame_kind::failure, encode(cause));
      line.send(steady_now() + std::chrono::milliseconds(100));
      line.close();
    }
  }

  membership me_;
  std::string place_;
  descriptor listener_;
  roll_call roll_;
  std::vector<channel> guests_;  ///< by rank
  entrance entrance_;
  std::vector<std::string> refusals_;
  std::optional<rank_failure> verdict_;  ///< the reason why the world cannot be formed
  std::size_t dismissal_count_ = 0;      ///< the number of latecomers that have been told
  std::string reach_;
};

}  // namespace tutti::detail::bootstrap
