// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/detail/tcp/waiter.hpp>
#include <tutti/extend/tcp_options.hpp>
#include <tutti/extend/time.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::detail::tcp {

/// An attempt to connect to a peer that listens: connect, say hello, read the answer.
class connect_attempt {
 public:
  enum class state {
    idle,  ///< before the next attempt
    under_way,
    has_answer,     ///< `answer` has come
    peer_connects,  ///< the peer connects to us
    peer_gone,      ///< the peer is gone
  };

  /// `doubt`: how long attempts are repeated where nothing listens.
  connect_attempt(waiter& w, address const& peer_address, hello const& own_hello, tcp_options const& options,
                  duration refusal_limit);
  connect_attempt(connect_attempt const&) = delete;
  connect_attempt& operator=(connect_attempt const&) = delete;
  ~connect_attempt() { close(); }

  [[nodiscard]] state current_state() const noexcept { return state_; }
  /// The whole greeting is in the hands of the peer's system.
  [[nodiscard]] bool is_delivered() const noexcept;
  /// The peer may know of this attempt: some of the greeting is on its way.
  [[nodiscard]] bool has_sent() const noexcept { return state_ == state::under_way && sent_bytes_ != 0; }
  /// Why the last attempt could not even begin: an errno of want of descriptors or memory, 0 if it could.
  [[nodiscard]] int resource_error() const noexcept { return resource_error_; }
  /// The peer's host answers: it refuses connections, or has accepted one.
  [[nodiscard]] bool is_reachable() const noexcept { return is_reachable_; }
  /// Why the last attempt failed: an errno, 0 if none did.
  [[nodiscard]] int error_code() const noexcept { return error_code_; }
  /// The time since the first attempt.
  [[nodiscard]] duration age() const noexcept { return steady_now() - begin_; }
  [[nodiscard]] hello const& answer() const noexcept { return answer_; }
  [[nodiscard]] descriptor take_socket() noexcept;
  /// The peer has asked to wait for its own connection.
  void wait_for_peer() noexcept;

  /// Goes as far as it can.
  void advance();

 private:
  void expire();
  void fail(int code);
  void give_up(int code) noexcept;
  void close() noexcept;

  waiter& waiter_;
  address peer_address_;
  hello hello_;
  duration connect_limit_;
  duration silence_limit_;
  duration refusal_limit_;
  time_point begin_;
  time_point attempt_begin_{};  ///< when this attempt began
  int resource_error_ = 0;
  descriptor socket_;
  state state_ = state::idle;
  hello answer_;
  std::size_t sent_bytes_ = 0;
  std::size_t received_bytes_ = 0;
  int failures_ = 0;
  int error_code_ = 0;
  bool is_reachable_ = false;
  time_point first_failure_{};
  time_point next_attempt_{};
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/connect_attempt.ipp>
#endif
