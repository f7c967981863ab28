// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/bootstrap/pending_hello.hpp>
#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/bootstrap/shrink_notice.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/handshake_server.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The member that waits for the others and decides who belongs to the new world.
class shrink_host {
 public:
  /// @param silent the members of lower ranks that did not answer; all other lower ranks are gone
  shrink_host(int listener, shrink_message const& me, std::vector<net::address> const& places,
              std::vector<rank_type> silent, duration patience)
      : listener_(listener),
        me_(me),
        places_(places),
        longest_hello_(me.longest(places.size())),
        silent_(std::move(silent)),
        patience_(patience) {
    for (rank_type const r : me.members) {
      if (r > me.rank) {
        watch(others_.emplace_back(other{r, {}, {}, {}}));
      }
    }
  }

  /// Waits until every member has joined or is gone.
  /// @returns the members of the new world
  /// @throws error(failure::join) if too many are silent, or others continued without this rank; members that have
  ///         joined get the same error
  std::vector<rank_type> gather() {
    time_point const deadline = steady_now() + patience_;
    while (expecting() && !is_left_out_ && steady_now() < deadline) {
      listen(deadline);
    }
    // Members that are gone now may have left a notice before, which has arrived by now.
    pending_.hear_all(*this);
    pending_ = {};
    is_left_out_ = is_left_out_ || take_notice(listener_, me_, longest_hello_);
    if (is_left_out_) {
      fail([](rank_type r) { return left_out(r); });  // guests are no members of that group, either
    }
    return decide();
  }
  /// True if `gather` has found that others continued without this rank.
  [[nodiscard]] bool is_left_out() const noexcept { return is_left_out_; }

  /// The connections to the members of the new world, in rank order.
  [[nodiscard]] std::vector<channel> take_lines() {
    std::vector<channel> lines;
    for (other& o : others_) {
      if (o.line) {
        lines.push_back(std::move(o.line));
      }
    }
    return lines;
  }

  // Callbacks of the handshake server.

  [[nodiscard]] static pending_hello begin(descriptor s) { return {channel(std::move(s))}; }
  [[nodiscard]] net::handshake_state hear(pending_hello& p) const { return p.hear(longest_hello_); }
  static void turn_away(pending_hello const&, char const*) noexcept {}  // a member tries again
  void arrive(pending_hello p) {
    shrink_message message;
    if (!message.parse(p.said.payload) || message.world != me_.world) {
      return;
    }
    if (message.leaves_out(me_)) {
      is_left_out_ = true;
      return;
    }
    auto const o =
        std::find_if(others_.begin(), others_.end(), [&](other const& one) { return one.rank == message.rank; });
    if (o == others_.end()) {
      return refuse(p.line, message.rank);
    }
    p.line.queue(bootstrap_frame_kind::welcome, {});
    if (p.line.flush()) {
      o->message = std::move(message);
      o->line = std::move(p.line);
    }
  }

 private:
  struct other {
    rank_type rank;
    channel line;      ///< empty until the member has joined
    descriptor watch;  ///< a connection to the member's listener, which the system closes when the member is gone
    shrink_message message;
    bool connected = false;
    bool gone = false;
  };

  [[nodiscard]] bool expecting() const noexcept {
    return std::any_of(others_.begin(), others_.end(), [](other const& o) { return !o.line && !o.gone; });
  }

  /// Begins a connection to a listener; schedules another attempt if that is impossible now.
  void watch(other& o) noexcept {
    o.connected = false;
    o.watch = net::begin_connect(places_[o.rank]);
    note_connection(o, errno);
    if (!o.watch && !o.gone) {
      watches_ = steady_now() + pause;
    }
  }

  /// Notes that a connection to a listener could not be begun or made.
  static void note_connection(other& o, int code) noexcept {
    if (!o.watch) {
      o.gone = code == ECONNREFUSED || code == ECONNRESET;
    }
  }

  void listen(time_point deadline) {
    if (steady_now() >= watches_) {
      watches_ = (time_point::max)();
      for (other& o : others_) {
        if (!o.watch && !o.gone) {
          watch(o);
        }
      }
    }
    bool const rests = steady_now() < opens_;
    std::vector<pollfd> set(1, {rests ? -1 : listener_, POLLIN, 0});
    for (other const& o : others_) {
      set.push_back({o.line.fd(), POLLIN, 0});
      set.push_back({o.watch.get(), static_cast<short>(o.connected ? POLLIN : POLLOUT), 0});
    }
    pending_.append_to(set);
    poll_until(set, (std::min)({deadline, watches_, rests ? opens_ : deadline}));
    for (std::size_t i = 0; i < others_.size(); ++i) {
      other& o = others_[i];
      if (set[1 + 2 * i].revents != 0 && o.line.fill() == io::closed) {
        o.line.close();  // only the listener tells if the member is gone
      }
      if (set[2 + 2 * i].revents != 0) {
        look_at_watch(o);
      }
    }
    pending_.hear_ready(set, 1 + 2 * others_.size(), *this);
    if (set[0].revents != 0) {
      pending_.accept_some(listener_, *this);
      if (pending_.resource_error() != 0 && pending_.empty()) {
        opens_ = steady_now() + pause;  // no pending connection can be closed to make room
      }
    }
  }

  void look_at_watch(other& o) noexcept {
    if (!o.connected) {
      int const code = net::connect_error(o.watch.get());
      o.connected = code == 0;
      if (code != 0) {
        o.watch.reset();
        note_connection(o, code);
        watches_ = steady_now() + pause;
      }
      return;
    }
    std::byte some[64];
    if (read_some(o.watch.get(), some).state == io::closed) {
      o.watch.reset();
      watch(o);  // another host may have turned it away; the listener tells if the member is gone
    }
  }

  /// Sends as much as fits; does not wait for a member that does not read.
  static void tell(channel& line, rank_failure const& why) {
    line.queue(bootstrap_frame_kind::failure, encode(why));
    line.flush();
    line.close();
  }
  static void refuse(channel& line, rank_type rank) { tell(line, left_out(rank)); }
  /// Fails on this rank and on all members; each is told `why(rank)`.
  template <class Why>
  [[noreturn]] void fail(Why const& why) {
    for (other& o : others_) {
      if (o.line) {
        tell(o.line, why(o.rank));
      }
    }
    rank_failure const own = why(me_.rank);
    throw error(own.kind, own.text).set_ranks(me_.rank, own.at_fault);
  }

  std::vector<rank_type> decide() {
    std::vector<rank_type> here{me_.rank};
    std::vector<rank_type> out;
    for (other& o : others_) {
      if (o.line && !agreed(o.rank)) {
        refuse(o.line, o.rank);
        out.push_back(o.rank);
      } else if (o.line) {
        here.push_back(o.rank);
      } else if (!o.gone) {
        silent_.push_back(o.rank);
      }
    }
    rank_type const lowest_silent = silent_.empty() ? no_rank : *std::min_element(silent_.begin(), silent_.end());
    if (here.size() < silent_.size() || (here.size() == silent_.size() && lowest_silent < me_.rank)) {
      rank_failure why{"shrinking failed: " + list_ranks(silent_) + " did not come within " + seconds_text(patience_) +
                           " but may be alive, and have gone on without " + list_ranks(here) +
                           "; give the failure_detector more patience than a rank works between two operations",
                       failure::join, silent_};
      fail([&why](rank_type) { return why; });
    }
    shrink_message const verdict{me_.world, me_.rank, here};
    out.insert(out.end(), silent_.begin(), silent_.end());
    leave_notices(verdict, out, places_);
    for (other& o : others_) {
      if (o.line) {
        o.line.queue(bootstrap_frame_kind::table, verdict.text());
        o.line.flush();  // the exchanges send the rest
      }
    }
    return here;
  }

  /// True if all that have joined count this rank as a member: a rank that was left out once stays out.
  [[nodiscard]] bool agreed(rank_type rank) const noexcept {
    return std::all_of(others_.begin(), others_.end(),
                       [&](other const& o) { return !o.line || o.message.counts(rank); });
  }

  static constexpr duration pause = std::chrono::milliseconds(100);  ///< before a failed attempt is repeated

  int listener_;
  shrink_message const& me_;
  std::vector<net::address> const& places_;
  std::size_t longest_hello_;  ///< longest hello in bytes; a longer one is refused unread
  std::vector<rank_type> silent_;
  duration patience_;
  std::vector<other> others_;
  net::handshake_server<pending_hello> pending_;
  bool is_left_out_ = false;                  ///< a notice says that others continued without this rank
  time_point opens_{};                        ///< nothing is accepted before this time
  time_point watches_ = (time_point::max)();  ///< time of the next attempt to reach listeners
};

}  // namespace tutti::detail::bootstrap
