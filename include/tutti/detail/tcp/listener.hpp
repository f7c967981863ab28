// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/net/greeter.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/detail/tcp/waiter.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

/// The listening socket of a rank, and the connections that have not greeted.
///
/// What a flood of unknown peers costs is bounded by the greeter, and in time: a connection that sends nothing is not
/// accepted where the system can tell (`await_data`), and what is turned away costs no more than a small share of the
/// time, for nothing is accepted for a moment after some of that.
class listener {
 public:
  /// Is told what is found out.
  class visitor {
   public:
    /// A connection has greeted.
    virtual void arrive(descriptor socket, hello const& greeting) = 0;
    /// A connection is closed that has not.
    virtual void refuse(descriptor const& socket, char const* reason) = 0;

   protected:
    ~visitor() = default;
  };

  listener(address const& at, waiter& w, duration handshake_limit);

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] address listening_address() const noexcept { return local_address(socket_.get()); }
  /// Why nothing can be accepted: an errno of want of descriptors or memory, 0 if there is none.
  [[nodiscard]] int resource_error() const noexcept { return pending_.starved(); }

  /// Accepts the connections that wait, as many as may be now.
  void accept_some(visitor& v);

  /// Accepts and hears all that have come until now.
  void accept_all(visitor& v);

  /// Hears the pending connection at a descriptor, if it still is one.
  void read_pending(int fd, visitor& v);

  /// Turns the pending connections away, for their descriptors. False: there are none.
  bool close_pending(visitor& v);

 private:
  static constexpr duration longest_pause = std::chrono::milliseconds(100);

  struct pending {
    descriptor socket;
    time_point accepted_at;
    hello greeting = {};
    std::size_t received_bytes = 0;

    [[nodiscard]] int fd() const noexcept { return socket.get(); }
  };
  struct greeter_visitor;

  void resume() noexcept;
  void pause(time_point end) noexcept;
  bool accept_one(greeter_visitor& g, time_point begin);

  waiter& waiter_;
  descriptor socket_;
  duration handshake_limit_;
  greeter<pending> pending_;
  time_point paused_until_{};
  int turned_away_ = 0;
  bool is_watched_ = false;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/listener.ipp>
#endif
