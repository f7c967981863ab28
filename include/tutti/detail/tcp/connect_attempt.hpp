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
    answered,  ///< `answer` has come
    crossed,   ///< the peer connects to us
    lost,      ///< the peer is gone
  };

  /// `doubt`: how long attempts are repeated where nothing listens.
  connect_attempt(waiter& w, address const& to, hello const& mine, tcp_options const& o, duration doubt);
  connect_attempt(connect_attempt const&) = delete;
  connect_attempt& operator=(connect_attempt const&) = delete;
  ~connect_attempt() { close(); }

  [[nodiscard]] state now() const noexcept { return state_; }
  /// The whole greeting is in the hands of the peer's system.
  [[nodiscard]] bool delivered() const noexcept;
  /// The peer may know of this attempt: some of the greeting is on its way.
  [[nodiscard]] bool said() const noexcept { return state_ == state::under_way && said_ != 0; }
  /// Why the last attempt could not even begin: an errno of want of descriptors or memory, 0 if it could.
  [[nodiscard]] int starved() const noexcept { return starved_; }
  /// The peer's host answers: it refuses connections, or has accepted one.
  [[nodiscard]] bool reached() const noexcept { return reached_; }
  /// Why the last attempt failed: an errno, 0 if none did.
  [[nodiscard]] int code() const noexcept { return code_; }
  /// The time since the first attempt.
  [[nodiscard]] duration lasted() const noexcept { return steady_now() - begin_; }
  [[nodiscard]] hello const& answer() const noexcept { return answer_; }
  [[nodiscard]] descriptor take() noexcept;
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
  address to_;
  hello mine_;
  duration patience_;
  duration silence_;
  duration doubt_;
  time_point begin_;
  time_point tried_{};  ///< when this attempt began
  int starved_ = 0;
  descriptor socket_;
  state state_ = state::idle;
  hello answer_;
  std::size_t said_ = 0;
  std::size_t heard_ = 0;
  int failures_ = 0;
  int code_ = 0;
  bool reached_ = false;
  time_point first_failure_{};
  time_point next_{};
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/connect_attempt.ipp>
#endif
