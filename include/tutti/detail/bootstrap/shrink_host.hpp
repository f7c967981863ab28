// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/agreement.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/entrance.hpp>
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
#include <chrono>
#include <cstddef>
#include <optional>
#include <poll.h>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The member that waits for the others in a round of agreement, and decides it with them.
class shrink_host {
 public:
  /// @param silent members of lower ranks that did not answer
  /// @param absent members of lower ranks that have ended
  /// @param key the world's for its shrink meetings, or none
  shrink_host(int listener, agreement& me, std::vector<net::address> const& places,
              std::vector<rank_type> const& silent, std::vector<rank_type> const& absent, duration patience,
              net::proof_key const& key = {})
      : listener_(listener),
        me_(me),
        places_(places),
        longest_hello_(me.longest_message(static_cast<rank_type>(places.size()))),
        patience_(patience),
        key_(key),
        entrance_(key_to(me.rank(), key), static_cast<rank_type>(places.size())) {
    me_.host(silent, absent);
    for (rank_type const r : me_.members()) {
      if (me_.watches(r)) {
        watch(guests_.emplace_back(guest{r, {}, {}}));
      }
    }
  }

  /// The key of the claims to this host, by which a guest knows which member answers; no key of none.
  [[nodiscard]] static net::proof_key key_to(rank_type host, net::proof_key const& key) {
    return key.derive("host", {packer().number(host).take()});
  }

  /// Decides the round.
  /// @throws error(failure::join) if too many are silent, or others continued without this rank; error
  ///         (failure::mismatch) if the members make different calls. Members that have come get the same error
  void run() {
    time_point deadline = steady_now() + patience_;
    for (;;) {
      switch (me_.next()) {
        case agreement::action::wait:
          if (steady_now() < deadline) {
            listen(deadline);
          } else {
            me_.expire();
          }
          break;
        case agreement::action::ask:
          deadline = steady_now() + patience_;
          for (guest& peer : guests_) {
            ask(peer);
          }
          break;
        case agreement::action::leave_notices:
          leave_notices(me_.notice(), me_.ranks_to_notify(), places_, key_);
          me_.note_notices();
          break;
        case agreement::action::look:
          look();
          me_.note_look();
          break;
        case agreement::action::decide:
          return announce();
        case agreement::action::fail:
          look();  // to be left out explains why others are silent
          fail();
      }
    }
  }

  /// The connections to the members that take part, in rank order.
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
    if (auto const notice = key_ ? notice_in(p.frame, key_) : std::nullopt) {
      me_.read_notice(*notice);
    }
  }
  void arrive(pending_hello p) {
    shrink_message message;
    if (!message.parse(p.frame.payload) || (p.rank != no_rank && p.rank != message.rank) ||
        (!key_ && me_.read_notice(message))) {
      return;
    }
    switch (me_.receive(message)) {
      case agreement::reception::refused:
        break;
      case agreement::reception::left_out:
        tell(p.line, left_out(message.rank));
        break;
      case agreement::reception::late:
        p.line.queue(bootstrap_frame_kind::table, me_.verdict().text());
        p.line.flush();
        break;
      case agreement::reception::welcome:
        admit(message.rank, std::move(p.line));
    }
  }

 private:
  struct guest {
    rank_type rank;
    channel line;      ///< empty until the member has come
    descriptor watch;  ///< a connection to the member's listener, which the system closes when the member is gone
    bool is_connected = false;
  };

  void admit(rank_type rank, channel line) {
    auto const position =
        std::find_if(guests_.begin(), guests_.end(), [rank](guest const& peer) { return peer.rank == rank; });
    line.queue(bootstrap_frame_kind::welcome, {});
    if (position == guests_.end() || !line.flush()) {
      return me_.note_departure(rank);
    }
    position->line = std::move(line);
    if (me_.is_asked(rank)) {
      ask(*position);
    }
  }

  void ask(guest& peer) {
    if (peer.line) {
      peer.line.queue(bootstrap_frame_kind::table, me_.request().text());
      peer.line.flush();  // `listen` sends the rest
    }
  }

  /// Begins a connection to a listener; schedules another attempt if that is impossible now.
  void watch(guest& peer) {
    peer.is_connected = false;
    peer.watch = net::begin_connect(places_[peer.rank]);
    note_connection(peer, errno);
  }

  /// Notes that a connection to a listener could not be begun or made.
  void note_connection(guest& peer, int code) {
    if (!peer.watch && (code == ECONNREFUSED || code == ECONNRESET)) {
      me_.note_end(peer.rank);
    } else if (!peer.watch) {
      watches_ = steady_now() + pause;
    }
  }

  void listen(time_point deadline) {
    if (steady_now() >= watches_) {
      watches_ = (time_point::max)();
      for (guest& peer : guests_) {
        if (!peer.watch && me_.watches(peer.rank)) {
          watch(peer);
        }
      }
    }
    bool const is_pausing = steady_now() < opens_;
    std::vector<pollfd> set(1, {is_pausing ? -1 : listener_, POLLIN, 0});
    for (guest const& peer : guests_) {
      set.push_back({peer.line.fd(), static_cast<short>(peer.line.is_flushed() ? POLLIN : POLLIN | POLLOUT), 0});
      set.push_back({peer.watch.get(), static_cast<short>(peer.is_connected ? POLLIN : POLLOUT), 0});
    }
    entrance_.append_to(set);
    poll_until(set, (std::min)({deadline, watches_, is_pausing ? opens_ : deadline}));
    for (std::size_t i = 0; i < guests_.size(); ++i) {
      if (set[1 + 2 * i].revents != 0) {
        hear_guest(guests_[i]);
      }
      if (set[2 + 2 * i].revents != 0) {
        look_at_watch(guests_[i]);
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

  void hear_guest(guest& peer) {
    bool is_open = peer.line.flush() && peer.line.fill() != io::hangup;
    for (bootstrap_frame frame; is_open || peer.line.unread() != 0;) {
      channel::parse_result const result = peer.line.next(frame, shrink_message::limit);
      if (result == channel::parse_result::incomplete) {
        break;
      }
      shrink_message answer;
      if (result != channel::parse_result::frame || frame.kind != bootstrap_frame_kind::text ||
          !answer.parse(frame.payload) || answer.rank != peer.rank) {
        is_open = false;
        break;
      }
      me_.note_answer(answer);
    }
    if (!is_open) {
      peer.line.close();  // only the listener tells if the member is gone
      me_.note_departure(peer.rank);
    }
  }

  void look_at_watch(guest& peer) {
    if (!peer.is_connected) {
      int const code = net::connect_error(peer.watch.get());
      peer.is_connected = code == 0;
      if (code == 0) {
        // A listener that awaits data keeps a silent connection to itself, and ends without a word to it.
        write_some(peer.watch.get(), bytes_of(frame_magic));
      } else {
        peer.watch.reset();
        note_connection(peer, code);
      }
      return;
    }
    std::byte discarded_bytes[64];
    if (read_some(peer.watch.get(), discarded_bytes).state == io::hangup) {
      peer.watch.reset();
      watch(peer);  // another host may have turned it away; the listener tells if the member is gone
    }
  }

  /// Reads the notices that have arrived.
  void look() {
    entrance_.hear_all(*this);
    entrance_.clear();
    take_notices(listener_, me_, longest_hello_, key_);
  }

  /// Sends as much as fits; does not wait for a member that does not read.
  static void tell(channel& line, rank_failure const& cause) {
    line.queue(bootstrap_frame_kind::failure, encode(cause));
    line.flush();
    line.close();
  }

  /// Fails on this rank and on all members that have come.
  [[noreturn]] void fail() {
    for (guest& peer : guests_) {
      auto const cause = me_.cause_for(peer.rank, patience_);
      if (peer.line && cause) {
        tell(peer.line, *cause);
      }
    }
    rank_failure const local_cause = me_.cause_for(me_.rank(), patience_).value();
    throw error(local_cause.kind, local_cause.text).set_ranks(me_.rank(), local_cause.at_fault);
  }

  /// Tells the guests what is decided.
  void announce() {
    for (guest& peer : guests_) {
      if (peer.line && me_.result().counts(peer.rank)) {
        peer.line.queue(bootstrap_frame_kind::table, me_.verdict().text());
        peer.line.flush();  // a connection takes a short text at once; the exchanges send the rest of a long one
      } else if (peer.line) {
        tell(peer.line, left_out(peer.rank));
      }
    }
    if (me_.is_left_out()) {
      fail();
    }
  }

  static constexpr duration pause = std::chrono::milliseconds(100);  ///< before a failed attempt is repeated

  int listener_;
  agreement& me_;
  std::vector<net::address> const& places_;
  std::size_t longest_hello_;  ///< longest hello in bytes; a longer one is refused unread
  duration patience_;
  std::vector<guest> guests_;
  net::proof_key key_;
  entrance entrance_;
  time_point opens_{};                        ///< nothing is accepted before this time
  time_point watches_ = (time_point::max)();  ///< time of the next attempt to reach listeners
};

}  // namespace tutti::detail::bootstrap
