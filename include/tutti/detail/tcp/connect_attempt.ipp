// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/connect_attempt.hpp>
#include <tutti/detail/tcp/tuning.hpp>

#include <cerrno>
#include <span>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL connect_attempt::connect_attempt(waiter& w, address const& to, hello const& mine, tcp_options const& o,
                                            duration doubt)
    : waiter_(w),
      to_(to),
      mine_(mine),
      patience_(o.connect),
      silence_(o.silence),
      doubt_(doubt),
      begin_(steady_now()) {}

TUTTI_DECL bool connect_attempt::delivered() const noexcept {
  return said_ == sizeof mine_ && socket_ && unacknowledged(socket_.get()) == 0;
}

TUTTI_DECL descriptor connect_attempt::take() noexcept {
  waiter_.remove(socket_.get());
  return std::move(socket_);
}

TUTTI_DECL void connect_attempt::wait_for_peer() noexcept {
  close();
  state_ = state::crossed;
}

TUTTI_DECL void connect_attempt::advance() {
  if (state_ == state::idle && starved_ == 0 && steady_now() < next_) {
    return waiter_.wake_at(next_);
  }
  if (state_ == state::idle) {
    tried_ = steady_now();
    socket_ = begin_connect(to_);
    said_ = heard_ = 0;
    state_ = state::under_way;
    starved_ = !socket_ && out_of_resources(errno) ? errno : 0;
    if (starved_ != 0) {
      state_ = state::idle;
      return waiter_.wake_at(steady_now() + std::chrono::milliseconds(100));
    }
    if (!socket_) {
      return fail(errno);
    }
    waiter_.add(socket_.get(), waiter::what::connect_attempt, mine_.to, true);
  }
  if (state_ != state::under_way) {
    return;
  }
  if (said_ != sizeof mine_) {
    moved const m = write_some(socket_.get(), std::as_bytes(std::span(&mine_, 1)).subspan(said_));
    said_ += m.bytes;
    reached_ = reached_ || said_ != 0;
    if (m.state == io::closed && errno != ENOTCONN) {
      return fail(errno);
    }
    if (m.state != io::done) {
      return expire();
    }
    if (int const code = connect_error(socket_.get()); code != 0) {
      return fail(code);  // connected to itself
    }
    waiter_.change(socket_.get(), waiter::what::connect_attempt, mine_.to, false);
  }
  moved const m = read_some(socket_.get(), std::as_writable_bytes(std::span(&answer_, 1)).subspan(heard_));
  heard_ += m.bytes;
  if (m.state == io::done) {
    state_ = state::answered;
  } else if (m.state == io::closed) {
    fail(errno);
  } else {
    expire();
  }
}

/// A host that has a connection made answers for a process that is stopped.
///
/// Where no connection is made the system asks less and less often, and would miss that a listener with a full queue
/// has room again: another attempt asks at once. An attempt of which the peer may know has no other beside it.
TUTTI_DECL void connect_attempt::expire() {
  constexpr duration one_attempt = std::chrono::seconds(1);
  time_point const now = steady_now();
  bool const unheard = said_ == 0;
  if (unheard ? now - begin_ > patience_ : silent(socket_.get(), silence_)) {
    give_up(unheard && code_ != 0 ? code_ : ETIMEDOUT);
  } else if (unheard && now - tried_ >= one_attempt) {
    close();
    state_ = state::idle;
    waiter_.wake_at(now);
  } else if (unheard) {
    waiter_.wake_at((std::min)(begin_ + patience_, tried_ + one_attempt));
  }
}

/// Nothing listens where the peer has listened: it is gone, and it may have left because of a fault that this rank
/// has yet to hear of. Everything else may pass.
TUTTI_DECL void connect_attempt::fail(int code) {
  close();
  code_ = code;
  reached_ = reached_ || code == ECONNREFUSED;
  time_point const now = steady_now();
  first_failure_ = failures_ == 0 ? now : first_failure_;
  ++failures_;
  bool const gone = code == ECONNREFUSED && now - first_failure_ >= doubt_;
  bool const hopeless = failures_ > 4 && now - first_failure_ > patience_;
  if (gone || hopeless) {
    return give_up(code);
  }
  state_ = state::idle;
  duration const pause = std::chrono::milliseconds(1) * (1 << (std::min)(failures_, 8));
  next_ = now + pause;
  waiter_.wake_at(next_);
}

TUTTI_DECL void connect_attempt::give_up(int code) noexcept {
  close();
  code_ = code;
  state_ = state::lost;
}

TUTTI_DECL void connect_attempt::close() noexcept {
  if (socket_) {
    waiter_.remove(socket_.get());
    socket_.reset();
  }
}

}  // namespace tutti::detail::tcp
