// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
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
/// size. A valid hello is a claim and proves nothing. Its sender can take a seat, which the right process then finds
/// taken; close its connection, which frees the seat; and send texts, which are bounded.
class tcp_host final : public tcp_side {
 public:
  TUTTI_COLD tcp_host(descriptor listener, membership const& me)
      : me_(with_finite_patience(me)),
        place_(net::local_address(listener.get()).text()),
        listener_(std::move(listener)),
        roll_(me.size, place_),
        guests_(me.size) {
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
    pending_ = {};
    announce();
  }

  TUTTI_COLD std::vector<std::string> exchange(std::string_view mine) override {
    std::vector<std::string> all(me_.size);
    std::vector<bool> here(me_.size);
    all[0] = mine;
    here[0] = true;
    reporting([&] { collect(all, here); });
    reporting([&] { deliver(bootstrap_frame_kind::table, packer().texts(all).take()); });
    return all;
  }

  /// Not a loopback address, unless all ranks are on this host.
  [[nodiscard]] std::string local_host() const override { return reach_; }
  [[nodiscard]] std::vector<std::string> refused() const override { return refused_; }

  // Callbacks of the handshake server.

  [[nodiscard]] TUTTI_COLD static pending_hello begin(descriptor s) {
    std::string from = net::peer_address(s.get()).text();
    return {channel(std::move(s)), std::move(from)};
  }
  [[nodiscard]] static net::handshake_state hear(pending_hello& p) { return p.hear(tcp_hello::limit); }
  void turn_away(pending_hello const& p, char const* why) { refuse(p.from, why); }
  TUTTI_COLD void arrive(pending_hello p) {
    tcp_hello hello;
    if (!hello.decode(p.said.payload)) {
      return refuse(p.from, "not a hello of tutti");
    }
    if (hello.job != me_.job || hello.size != me_.size || hello.rank >= me_.size || p.line.unread() != 0) {
      refuse(p.from, objection_to(hello));
      p.line.queue(bootstrap_frame_kind::refusal, {});
      p.line.flush();
      return;
    }
    if (verdict_) {
      ++dismissed_;
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
        roll_.fail_missing(me_.patience, refused_text());
      }
    }
  }

  /// Tells the members that have joined why it failed, and for a moment members on their way.
  TUTTI_COLD void dismiss(rank_failure why) {
    verdict_ = std::move(why);
    std::size_t left = me_.size - 1;
    for (channel& g : guests_) {
      left -= g ? 1U : 0U;
      tell(g, *verdict_);
    }
    time_point const deadline = steady_now() + (std::min)(me_.patience, moment);
    while (dismissed_ < left && steady_now() < deadline) {
      listen(deadline);
    }
  }

  /// Waits once and handles the events.
  TUTTI_COLD void listen(time_point deadline) {
    std::vector<pollfd> set(1, {listener_.get(), POLLIN, 0});
    for (channel const& g : guests_) {
      set.push_back({g.fd(), POLLIN, 0});  // an absent one has -1, which poll skips
    }
    pending_.append_to(set);
    poll_until(set, deadline);
    for (rank_type r = 1; r < me_.size; ++r) {
      if (set[1 + r].revents != 0) {
        check_seat(r);
      }
    }
    pending_.hear_ready(set, 1 + me_.size, *this);
    if (set[0].revents == 0) {
      return;
    }
    pending_.accept_some(listener_.get(), *this);
    if (pending_.resource_error() != 0 && pending_.empty() && !verdict_) {
      roll_.fail("rank 0 cannot accept connections at " + place_ + ": " + describe_errno(pending_.resource_error()) +
                     "; allow it a descriptor for each of the " + std::to_string(me_.size) + " ranks (ulimit -n)",
                 {0});
    }
  }

  /// Frees the seat of a rank that has left, or that sends more than its hello before it is welcome.
  TUTTI_COLD void check_seat(rank_type r) {
    io const heard = guests_[r].fill(1);
    if (heard == io::open) {
      return;
    }
    refuse(net::peer_address(guests_[r].fd()).text(),
           roll_.known(r) + (heard == io::closed ? " closed its connection" : " sent more than a hello") +
               " while others were still to come");
    guests_[r].close();
    roll_.strike_off(r);
  }

  /// For rank 0 alone: an unknown peer is not told why it was refused.
  [[nodiscard]] TUTTI_COLD std::string objection_to(tcp_hello const& h) const {
    if (h.job != me_.job) {
      return describe(h.process) + " belongs to job '" + h.job + "', this is '" + me_.job + "'";
    }
    if (h.size != me_.size) {
      return describe(h.rank, h.process) + " has a world of " + std::to_string(h.size) + " ranks, rank 0 one of " +
             std::to_string(me_.size) + " (TUTTI_SIZE)";
    }
    return h.rank >= me_.size
               ? describe(h.process) + " says it is rank " + std::to_string(h.rank) + " of " + std::to_string(h.size)
               : describe(h.rank, h.process) + " sent more than a hello";
  }

  TUTTI_COLD void refuse(std::string const& from, std::string const& why) {
    if (refused_.size() < 64) {
      refused_.push_back(from + ": " + why);
    }
  }

  /// The first few refusals, for an error that they may explain.
  [[nodiscard]] TUTTI_COLD std::string refused_text() const {
    constexpr std::size_t most = 4;
    std::string text;
    for (std::size_t i = 0; i < (std::min)(refused_.size(), most); ++i) {
      text += (i == 0 ? "" : ", ") + refused_[i];
    }
    return refused_.size() > most ? text + " and others" : text;
  }

  TUTTI_COLD void announce() {
    reach_ = me_.size == 1 ? net::loopback_host() : std::string();
    for (rank_type r = 1; r < me_.size; ++r) {
      net::address const here = net::local_address(guests_[r].fd());
      if (r == 1 || !here.is_loopback()) {
        reach_ = here.host();
      }
      if (!here.is_loopback()) {
        break;
      }
    }
    reporting([&] { deliver(bootstrap_frame_kind::welcome, reach_); });
  }

  TUTTI_COLD void collect(std::vector<std::string>& all, std::vector<bool>& here) {
    time_point const deadline = steady_now() + me_.patience;
    std::vector<pollfd> set(me_.size);
    for (;;) {
      std::vector<rank_type> absent;
      set[0] = {-1, 0, 0};
      for (rank_type r = 1; r < me_.size; ++r) {
        if (!here[r]) {
          take(r, all[r], here);
        }
        if (!here[r]) {
          if (!guests_[r]) {
            fail(roll_.known(r) + " is not connected any more", {r});
          }
          absent.push_back(r);
        }
        set[r] = {here[r] ? -1 : guests_[r].fd(), POLLIN, 0};
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
        if (set[r].revents != 0 && guests_[r].fill() == io::closed) {
          take(r, all[r], here);
          if (!here[r]) {
            guests_[r].close();
            fail(roll_.known(r) + " closed its connection", {r});
          }
        }
      }
    }
  }

  TUTTI_COLD void take(rank_type r, std::string& text, std::vector<bool>& here) {
    bootstrap_frame f;
    std::uint64_t const limit = text_limit(me_.size);
    auto const found = guests_[r].next(f, limit);
    if (found == channel::found::nothing) {
      return;
    }
    if (found == channel::found::too_long) {
      fail(roll_.known(r) + " gave a text of more than " + std::to_string(limit) + " bytes", {r});
    }
    if (found != channel::found::frame || f.kind != bootstrap_frame_kind::text) {
      fail(roll_.known(r) + " sent bytes that are no text of an exchange", {r});
    }
    text = std::move(f.payload);
    here[r] = true;
  }

  /// Writes one frame to all guests in turn; the system usually buffers it at once.
  TUTTI_COLD void deliver(bootstrap_frame_kind kind, std::string_view what) {
    time_point const deadline = steady_now() + me_.patience;
    for (rank_type r = 1; r < me_.size; ++r) {
      if (guests_[r]) {
        guests_[r].queue(kind, what);
        if (guests_[r].send(deadline) != io::done) {
          fail(roll_.known(r) + " closed its connection or does not read from it", {r});
        }
      }
    }
  }

  [[noreturn]] void fail(std::string const& what, std::vector<rank_type> at_fault) const {
    throw error(failure::join, "exchange at " + place_ + ": " + what).set_ranks(0, std::move(at_fault));
  }

  /// Calls `work`; if that fails, all guests are told why.
  template <class Work>
  TUTTI_COLD void reporting(Work&& work) {
    try {
      work();
    } catch (error& e) {
      for (channel& g : guests_) {
        tell(g, {e.what(), e.kind(), e.at_fault()});
      }
      e.set_ranks(me_.rank, e.at_fault());
      throw;
    }
  }

  TUTTI_COLD static void tell(channel& line, rank_failure const& why) {
    if (line) {
      line.queue(bootstrap_frame_kind::failure, encode(why));
      line.send(steady_now() + std::chrono::milliseconds(100));
      line.close();
    }
  }

  membership me_;
  std::string place_;
  descriptor listener_;
  roll_call roll_;
  std::vector<channel> guests_;  ///< by rank
  net::handshake_server<pending_hello> pending_;
  std::vector<std::string> refused_;
  std::optional<rank_failure> verdict_;  ///< the reason why the world cannot be formed
  std::size_t dismissed_ = 0;            ///< the number of latecomers that have been told
  std::string reach_;
};

}  // namespace tutti::detail::bootstrap
