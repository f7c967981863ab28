// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/connect_attempt.hpp>
#include <tutti/detail/tcp/socket_options.hpp>

#include <cerrno>
#include <span>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL connect_attempt::connect_attempt(waiter& event_waiter, address const& peer_address, hello const& request,
                                            hello_prover& prover, tcp_options const& options, duration refusal_limit)
    : waiter_(event_waiter),
      peer_address_(peer_address),
      request_(request),
      prover_(prover),
      connect_limit_(options.connect),
      silence_limit_(options.silence),
      refusal_limit_(refusal_limit),
      begin_(steady_now()) {}

TUTTI_DECL bool connect_attempt::is_delivered() const noexcept {
  return sent_bytes_ == sizeof request_ && socket_ && unacknowledged_bytes(socket_.get()) == 0;
}

TUTTI_DECL descriptor connect_attempt::take_socket() noexcept {
  waiter_.remove(socket_.get());
  return std::move(socket_);
}

TUTTI_DECL void connect_attempt::wait_for_peer(duration pause) noexcept {
  close();
  state_ = state::idle;
  next_attempt_ = steady_now() + pause;
  waiter_.wake_at(next_attempt_);
}

TUTTI_DECL void connect_attempt::end() noexcept {
  close();
  state_ = state::has_ended;
}

TUTTI_DECL void connect_attempt::restart() noexcept {
  if (state_ == state::under_way) {
    close();
    state_ = state::idle;
  }
}

TUTTI_DECL void connect_attempt::advance() {
  if (state_ == state::idle && resource_error_ == 0 && steady_now() < next_attempt_) {
    return waiter_.wake_at(next_attempt_);
  }
  if (state_ == state::idle) {
    attempt_begin_ = steady_now();
    begin_ = sent_bytes_ != 0 ? attempt_begin_ : begin_;  // the last try has reached the peer's host
    socket_ = begin_connect(peer_address_);
    sent_bytes_ = received_bytes_ = 0;
    state_ = state::under_way;
    resource_error_ = !socket_ && out_of_resources(errno) ? errno : 0;
    if (resource_error_ != 0) {
      state_ = state::idle;
      return waiter_.wake_at(steady_now() + std::chrono::milliseconds(100));
    }
    if (!socket_) {
      return fail(errno);
    }
    prover_.prove_request(request_);
    keep_alive(socket_.get(), silence_limit_);
    waiter_.add(socket_.get(), waiter::source::connect_attempt, request_.receiver, true);
  }
  if (state_ != state::under_way) {
    return;
  }
  if (sent_bytes_ != sizeof request_) {
    io_result const m = write_some(socket_.get(), std::as_bytes(std::span(&request_, 1)).subspan(sent_bytes_));
    sent_bytes_ += m.bytes;
    is_reachable_ = is_reachable_ || sent_bytes_ != 0;
    if (m.state == io::hangup && errno != ENOTCONN) {
      return fail(errno);
    }
    if (m.state != io::complete) {
      return expire();
    }
    if (int const code = connect_error(socket_.get()); code != 0) {
      return fail(code);  // connected to itself
    }
    waiter_.change(socket_.get(), waiter::source::connect_attempt, request_.receiver, false);
  }
  io_result const m = read_some(socket_.get(), std::as_writable_bytes(std::span(&answer_, 1)).subspan(received_bytes_));
  received_bytes_ += m.bytes;
  if (m.state == io::complete) {
    state_ = state::has_answer;
  } else if (m.state == io::hangup) {
    fail(errno);
  } else {
    expire();
  }
}

/// Handles a try without an answer. Once connected, the peer's host answers even if the process is stopped, so only a
/// silent host is given up.
///
/// Before that, the system repeats its request ever more rarely, and would be late to see that a listener's full queue
/// has room again: a new try each second asks sooner. There is no second try once the peer may know of the first.
TUTTI_DECL void connect_attempt::expire() {
  constexpr duration one_attempt = std::chrono::seconds(1);
  time_point const now = steady_now();
  bool const is_unsent = sent_bytes_ == 0;
  if (is_unsent ? now - begin_ > connect_limit_ : is_silent(socket_.get(), silence_limit_)) {
    give_up(is_unsent && error_code_ != 0 ? error_code_ : ETIMEDOUT);
  } else if (is_unsent && now - attempt_begin_ >= one_attempt) {
    close();
    state_ = state::idle;
    waiter_.wake_at(now);
  } else if (is_unsent) {
    waiter_.wake_at((std::min)(begin_ + connect_limit_, attempt_begin_ + one_attempt));
  }
}

/// Handles a failed try. A refusal means that the peer is gone, perhaps because of a fault still to be told here. So
/// does a host that was connected and answers no keep-alive probe. All other errors may be temporary.
TUTTI_DECL void connect_attempt::fail(int code) {
  if (code == ETIMEDOUT && sent_bytes_ != 0) {
    return give_up(code);
  }
  close();
  error_code_ = code;
  is_reachable_ = is_reachable_ || code == ECONNREFUSED;
  time_point const now = steady_now();
  first_failure_ = failures_ == 0 ? now : first_failure_;
  ++failures_;
  bool const is_gone = code == ECONNREFUSED && now - first_failure_ >= refusal_limit_;
  bool const is_hopeless = failures_ > 4 && now - first_failure_ > connect_limit_;
  if (is_gone || is_hopeless) {
    return give_up(code);
  }
  state_ = state::idle;
  duration const pause = std::chrono::milliseconds(1) * (1 << (std::min)(failures_, 8));
  next_attempt_ = now + pause;
  waiter_.wake_at(next_attempt_);
}

TUTTI_DECL void connect_attempt::give_up(int code) noexcept {
  close();
  error_code_ = code;
  state_ = state::peer_gone;
}

TUTTI_DECL void connect_attempt::close() noexcept {
  if (socket_) {
    waiter_.remove(socket_.get());
    socket_.reset();
  }
}

}  // namespace tutti::detail::tcp
