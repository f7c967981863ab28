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
    virtual void arrive(descriptor socket, hello const& says) = 0;
    /// A connection is closed that has not.
    virtual void refuse(descriptor const& socket, char const* why) = 0;

   protected:
    ~visitor() = default;
  };

  listener(address const& at, waiter& w, duration patience);

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] address where() const noexcept { return local_address(socket_.get()); }
  /// Why nothing can be accepted: an errno of want of descriptors or memory, 0 if there is none.
  [[nodiscard]] int starved() const noexcept { return pending_.starved(); }

  /// Accepts the connections that wait, as many as may be now.
  void answer(visitor& v);

  /// Accepts and hears all that have come until now.
  void answer_all(visitor& v);

  /// Hears the pending connection at a descriptor, if it still is one.
  void hear(int fd, visitor& v);

  /// Turns the pending connections away, for their descriptors. False: there are none.
  bool clear(visitor& v);

 private:
  static constexpr duration longest_pause = std::chrono::milliseconds(100);

  struct pending {
    descriptor socket;
    time_point since;
    hello says = {};
    std::size_t got = 0;

    [[nodiscard]] int fd() const noexcept { return socket.get(); }
  };
  struct guard;

  void open() noexcept;
  void pause(time_point until) noexcept;
  bool accept_one(guard& g, time_point now);

  waiter& waiter_;
  descriptor socket_;
  duration patience_;
  greeter<pending> pending_;
  time_point opens_{};
  int turned_away_ = 0;
  bool open_ = false;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/listener.ipp>
#endif
