// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/entrance.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/bootstrap/pending_hello.hpp>
#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/bootstrap/shrink_notice.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/handshake_server.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/packing.hpp>
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
  /// @param key the world's for its shrink meetings, or none
  shrink_host(int listener, shrink_message const& me, std::vector<net::address> const& places,
              std::vector<rank_type> silent, duration patience, net::proof_key const& key = {})
      : listener_(listener),
        me_(me),
        places_(places),
        longest_hello_(me.longest(places.size())),
        silent_(std::move(silent)),
        patience_(patience),
        key_(key),
        entrance_(key_to(me.rank, key), static_cast<rank_type>(places.size())) {
    for (rank_type const r : me.members) {
      if (r > me.rank) {
        watch(guests_.emplace_back(guest{r, {}, {}, {}}));
      }
    }
  }

  /// The key of the claims to this host, by which a guest knows which member answers; no key of none.
  [[nodiscard]] static net::proof_key key_to(rank_type host, net::proof_key const& key) {
    return key.derive("host", {packer().number(host).take()});
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
    entrance_.hear_all(*this);
    entrance_.clear();
    is_left_out_ = is_left_out_ || take_notice(listener_, me_, longest_hello_, key_);
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
    for (guest& peer : guests_) {
      if (peer.line) {
        lines.push_back(std::move(peer.line));
      }
    }
    return lines;
  }

  // Callbacks of the entrance.

  [[nodiscard]] static pending_hello begin(descriptor s) { return {channel(std::move(s))}; }
  [[nodiscard]] net::handshake_state hear(pending_hello& p) const { return p.hear(longest_hello_); }
  /// A member tries again. With a key, a notice is no claim.
  void turn_away(pending_hello const& p, char const*) {
    is_left_out_ = is_left_out_ || (key_ && is_notice(p.frame, me_, key_));
  }
  void arrive(pending_hello p) {
    shrink_message message;
    if (!message.parse(p.frame.payload) || message.world != me_.world ||
        (p.rank != no_rank && p.rank != message.rank)) {
      return;
    }
    if (message.leaves_out(me_)) {
      is_left_out_ = true;
      return;
    }
    auto const position = std::find_if(guests_.begin(), guests_.end(),
                                       [&](guest const& candidate) { return candidate.rank == message.rank; });
    if (position == guests_.end()) {
      return refuse(p.line, message.rank);
    }
    p.line.queue(bootstrap_frame_kind::welcome, {});
    if (p.line.flush()) {
      position->message = std::move(message);
      position->line = std::move(p.line);
    }
  }

 private:
  struct guest {
    rank_type rank;
    channel line;      ///< empty until the member has joined
    descriptor watch;  ///< a connection to the member's listener, which the system closes when the member is gone
    shrink_message message;
    bool is_connected = false;
    bool is_gone = false;
  };

  [[nodiscard]] bool expecting() const noexcept {
    return std::any_of(guests_.begin(), guests_.end(), [](guest const& peer) { return !peer.line && !peer.is_gone; });
  }

  /// Begins a connection to a listener; schedules another attempt if that is impossible now.
  void watch(guest& peer) noexcept {
    peer.is_connected = false;
    peer.watch = net::begin_connect(places_[peer.rank]);
    note_connection(peer, errno);
    if (!peer.watch && !peer.is_gone) {
      watches_ = steady_now() + pause;
    }
  }

  /// Notes that a connection to a listener could not be begun or made.
  static void note_connection(guest& peer, int code) noexcept {
    if (!peer.watch) {
      peer.is_gone = code == ECONNREFUSED || code == ECONNRESET;
    }
  }

  void listen(time_point deadline) {
    if (steady_now() >= watches_) {
      watches_ = (time_point::max)();
      for (guest& peer : guests_) {
        if (!peer.watch && !peer.is_gone) {
          watch(peer);
        }
      }
    }
    bool const is_pausing = steady_now() < opens_;
    std::vector<pollfd> set(1, {is_pausing ? -1 : listener_, POLLIN, 0});
    for (guest const& peer : guests_) {
      set.push_back({peer.line.fd(), POLLIN, 0});
      set.push_back({peer.watch.get(), static_cast<short>(peer.is_connected ? POLLIN : POLLOUT), 0});
    }
    entrance_.append_to(set);
    poll_until(set, (std::min)({deadline, watches_, is_pausing ? opens_ : deadline}));
    for (std::size_t i = 0; i < guests_.size(); ++i) {
      guest& peer = guests_[i];
      if (set[1 + 2 * i].revents != 0 && peer.line.fill() == io::hangup) {
        peer.line.close();  // only the listener tells if the member is gone
      }
      if (set[2 + 2 * i].revents != 0) {
        look_at_watch(peer);
      }
    }
    entrance_.hear_ready(set, 1 + 2 * guests_.size(), *this);
    if (set[0].revents != 0) {
      entrance_.accept_some(listener_, *this);
      if (entrance_.resource_error() != 0 && entrance_.empty()) {
        opens_ = steady_now() + pause;  // no pending connection can be closed to make room
      }
    }
  }

  void look_at_watch(guest& peer) noexcept {
    if (!peer.is_connected) {
      int const code = net::connect_error(peer.watch.get());
      peer.is_connected = code == 0;
      if (code == 0) {
        // A listener that awaits data keeps a silent connection to itself, and ends without a word to it.
        write_some(peer.watch.get(), bytes_of(frame_magic));
      } else {
        peer.watch.reset();
        note_connection(peer, code);
        watches_ = steady_now() + pause;
      }
      return;
    }
    std::byte discarded_bytes[64];
    if (read_some(peer.watch.get(), discarded_bytes).state == io::hangup) {
      peer.watch.reset();
      watch(peer);  // another host may have turned it away; the listener tells if the member is gone
    }
  }

  /// Sends as much as fits; does not wait for a member that does not read.
  static void tell(channel& line, rank_failure const& cause) {
    line.queue(bootstrap_frame_kind::failure, encode(cause));
    line.flush();
    line.close();
  }
  static void refuse(channel& line, rank_type rank) { tell(line, left_out(rank)); }
  /// Fails on this rank and on all members; each is told `cause_of(rank)`.
  template <class CauseOf>
  [[noreturn]] void fail(CauseOf const& cause_of) {
    for (guest& peer : guests_) {
      if (peer.line) {
        tell(peer.line, cause_of(peer.rank));
      }
    }
    rank_failure const local_cause = cause_of(me_.rank);
    throw error(local_cause.kind, local_cause.text).set_ranks(me_.rank, local_cause.at_fault);
  }

  std::vector<rank_type> decide() {
    std::vector<rank_type> present{me_.rank};
    std::vector<rank_type> absent;
    for (guest& peer : guests_) {
      if (peer.line && !is_agreed(peer.rank)) {
        refuse(peer.line, peer.rank);
        absent.push_back(peer.rank);
      } else if (peer.line) {
        present.push_back(peer.rank);
      } else if (!peer.is_gone) {
        silent_.push_back(peer.rank);
      }
    }
    rank_type const lowest_silent = silent_.empty() ? no_rank : *std::min_element(silent_.begin(), silent_.end());
    if (present.size() < silent_.size() || (present.size() == silent_.size() && lowest_silent < me_.rank)) {
      rank_failure cause{"shrinking failed: " + list_ranks(silent_) + " did not come within " +
                             seconds_text(patience_) + ", but may be alive and have continued without " +
                             list_ranks(present) +
                             "; give the failure_detector a patience longer than the time between two operations",
                         failure::join, silent_};
      fail([&cause](rank_type) { return cause; });
    }
    shrink_message const verdict{me_.world, me_.rank, present};
    absent.insert(absent.end(), silent_.begin(), silent_.end());
    leave_notices(verdict, absent, places_, key_);
    for (guest& peer : guests_) {
      if (peer.line) {
        peer.line.queue(bootstrap_frame_kind::table, verdict.text());
        peer.line.flush();  // the exchanges send the rest
      }
    }
    return present;
  }

  /// True if all that have joined count this rank as a member: a rank that was left out once stays out.
  [[nodiscard]] bool is_agreed(rank_type rank) const noexcept {
    return std::all_of(guests_.begin(), guests_.end(),
                       [&](guest const& peer) { return !peer.line || peer.message.counts(rank); });
  }

  static constexpr duration pause = std::chrono::milliseconds(100);  ///< before a failed attempt is repeated

  int listener_;
  shrink_message const& me_;
  std::vector<net::address> const& places_;
  std::size_t longest_hello_;  ///< longest hello in bytes; a longer one is refused unread
  std::vector<rank_type> silent_;
  duration patience_;
  std::vector<guest> guests_;
  net::proof_key key_;
  entrance entrance_;
  bool is_left_out_ = false;                  ///< a notice says that others continued without this rank
  time_point opens_{};                        ///< nothing is accepted before this time
  time_point watches_ = (time_point::max)();  ///< time of the next attempt to reach listeners
};

}  // namespace tutti::detail::bootstrap
