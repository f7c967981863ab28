// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/detail/tcp/hello_prover.hpp>
#include <tutti/detail/tcp/waiter.hpp>
#include <tutti/extend/tcp_options.hpp>
#include <tutti/extend/time.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::detail::tcp {

/// An attempt to connect to a listening peer: connect, send a hello, read the answer.
///
///     idle ---> under_way ---> has_answer ---> (welcome) the caller takes the socket
///       ^           |               '--------> (revoke) has_ended
///       +-- error --+--- refused, silent or out of time ---> peer_gone
///       '-- (collision) after a pause
class connect_attempt {
 public:
  enum class state {
    idle,  ///< between two tries
    under_way,
    has_answer,
    has_ended,  ///< the world has a fault
    peer_gone,
  };

  /// `refusal_limit`: time for which a refused connection is tried again. Each try proves `request` once more.
  connect_attempt(waiter& event_waiter, address const& peer_address, hello const& request, hello_prover& prover,
                  tcp_options const& options, duration refusal_limit);
  connect_attempt(connect_attempt const&) = delete;
  connect_attempt& operator=(connect_attempt const&) = delete;
  ~connect_attempt() { close(); }

  [[nodiscard]] state current_state() const noexcept { return state_; }
  /// True if the whole hello has arrived at the peer's system.
  [[nodiscard]] bool is_delivered() const noexcept;
  /// True if the peer may know of this attempt: some of the hello was sent.
  [[nodiscard]] bool has_sent() const noexcept { return state_ == state::under_way && sent_bytes_ != 0; }
  /// The errno if descriptors or memory are missing for a try, else 0.
  [[nodiscard]] int resource_error() const noexcept { return resource_error_; }
  /// True if the peer's host has accepted or refused a connection.
  [[nodiscard]] bool is_reachable() const noexcept { return is_reachable_; }
  /// The errno of the last failed try, or 0.
  [[nodiscard]] int error_code() const noexcept { return error_code_; }
  /// The time since the first try, or the first one behind a try that has reached the peer's host.
  [[nodiscard]] duration age() const noexcept { return steady_now() - begin_; }
  /// The hello of the last try.
  [[nodiscard]] hello const& request() const noexcept { return request_; }
  [[nodiscard]] hello const& answer() const noexcept { return answer_; }
  /// The socket of the try, or -1.
  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] descriptor take_socket() noexcept;
  /// Leaves the connection to the peer, whose own is under way. The next try, after `pause`, tells if the peer is gone.
  void wait_for_peer(duration pause) noexcept;
  /// Ends this attempt: a world with a fault makes no connection.
  void end() noexcept;
  /// Ends the try that is under way, whose answer is not wanted any more. `advance` begins another one.
  void restart() noexcept;
  /// Handles a connection that broke behind the answer, as a try without one.
  void fail(int code);

  /// Advances as far as possible without waiting.
  void advance();

 private:
  void expire();
  void give_up(int code) noexcept;
  void close() noexcept;

  waiter& waiter_;
  address peer_address_;
  hello request_;
  hello_prover& prover_;
  duration connect_limit_;
  duration silence_limit_;
  duration refusal_limit_;
  time_point begin_;
  time_point attempt_begin_{};
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
