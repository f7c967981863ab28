// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/listener.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

/// Handles the events of the handshake server by those of a listener's handler.
struct listener::handshake_handler {
  listener& self;
  handler& target;

  [[nodiscard]] pending begin(descriptor s) const {
    self.waiter_.add(s.get(), waiter::source::pending_connection, static_cast<rank_type>(s.get()), false);
    return {std::move(s), steady_now()};
  }
  [[nodiscard]] handshake_state hear(pending& p) const noexcept {
    io_result const m =
        read_some(p.socket.get(), std::as_writable_bytes(std::span(&p.peer_hello, 1)).subspan(p.received_bytes));
    p.received_bytes += m.bytes;
    // Other protocols are refused at the first byte that differs.
    if (char const* const reason = p.peer_hello.objection_to_begin(p.received_bytes)) {
      if (self.tells_version_ && p.received_bytes >= hello::version_bytes) {
        hello const answer;  // any hello tells an older peer, which reads this much of it
        write_some(p.socket.get(), std::as_bytes(std::span(&answer, 1)).first(hello::short_bytes));
      }
      return {.complete = false, .objection = reason};
    }
    return {.complete = m.state == io::complete, .objection = m.state == io::hangup ? "it closed early" : nullptr};
  }
  void arrive(pending p) const {
    self.waiter_.remove(p.fd());
    if (char const* const reason = target.arrive(p.socket, p.peer_hello)) {
      ++self.turned_away_;
      target.refuse(p.socket, reason);
    }
  }
  void turn_away(pending const& p, char const* reason) const {
    self.waiter_.remove(p.fd());
    ++self.turned_away_;
    target.refuse(p.socket, reason);
  }
};

TUTTI_DECL listener::listener(address const& at, waiter& event_waiter, duration handshake_limit)
    : waiter_(event_waiter), socket_(listen(at)), handshake_limit_(handshake_limit) {
  await_data(socket_.get());
}

TUTTI_DECL void listener::accept_some(handler& target) {
  constexpr int max_turned_away = 32;  // per call
  constexpr int max_accepted = 64;     // per call
  if (!is_open_) {
    return;
  }
  handshake_handler adapter{*this, target};
  time_point const begin = steady_now();
  while (!pending_.empty() && begin - pending_.oldest().accepted_at >= handshake_limit_) {
    pending_.turn_oldest_away(adapter, "it did not say which rank it is");
  }
  if (!pending_.empty()) {
    waiter_.wake_at(pending_.oldest().accepted_at + handshake_limit_);
  }
  if (begin < paused_until_) {
    return waiter_.wake_at(paused_until_);
  }
  turned_away_ = 0;
  resume();
  for (int i = 0; i < max_accepted && turned_away_ < max_turned_away && accept_one(adapter, begin); ++i) {
  }
  pause_after_refusals(begin);
}

TUTTI_DECL void listener::accept_all(handler& target) {
  constexpr int longest_queue = 1024;  // the system's; waiting connections take no descriptor here
  if (!is_open_) {
    return;
  }
  handshake_handler adapter{*this, target};
  time_point const begin = steady_now();
  for (int i = 0; i < 2 * longest_queue && accept_one(adapter, begin); ++i) {
  }
  pending_.hear_all(adapter);
}

TUTTI_DECL void listener::read_pending(int fd, handler& target) {
  handshake_handler adapter{*this, target};
  time_point const begin = steady_now();
  turned_away_ = 0;
  pending_.hear_descriptor(fd, adapter);
  pause_after_refusals(begin);
}

TUTTI_DECL bool listener::close_pending(handler& target) {
  handshake_handler adapter{*this, target};
  bool const has_pending = !pending_.empty();
  while (!pending_.empty()) {
    pending_.turn_oldest_away(adapter, "it made room for another connection");
  }
  return has_pending;
}

TUTTI_DECL void listener::resume() noexcept {
  if (!is_watched_) {
    is_watched_ = true;
    waiter_.add(socket_.get(), waiter::source::listener, 0, false);
  }
}

/// Accepts nothing until `end`: waiting connections wake nobody.
TUTTI_DECL void listener::pause(time_point end) noexcept {
  paused_until_ = end;
  is_watched_ = false;
  waiter_.remove(socket_.get());
  waiter_.wake_at(end);
}

/// Makes a pause, or a longer one, if connections were refused since `begin`.
TUTTI_DECL void listener::pause_after_refusals(time_point begin) noexcept {
  if (turned_away_ != 0) {
    time_point const end = steady_now();
    time_point const pause_begin = (std::max)(end, paused_until_);
    pause((std::min)(pause_begin + pause_factor * (end - begin), end + longest_pause));
  }
}

/// Accepts one connection. Returns false if there is none, or no descriptor for it.
TUTTI_DECL bool listener::accept_one(handshake_handler& adapter, time_point begin) {
  bool const more = pending_.accept_one(socket_.get(), adapter);
  if (!more && pending_.resource_error() != 0) {
    pause(begin + longest_pause);
  }
  return more;
}

}  // namespace tutti::detail::tcp
