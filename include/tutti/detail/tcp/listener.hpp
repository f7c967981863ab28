// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/net/handshake_server.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/detail/tcp/waiter.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

/// The listening socket of a rank, and the connections without a complete hello.
///
/// Cost of strangers: at most 64 descriptors, each for at most `tcp_options::handshake` and 104 bytes. A silent
/// connection is not accepted at all where the system can tell (`await_data`), and one with other bytes is closed at
/// the first. A hello of another version is answered only in a world without a secret. If a call refuses any, with an
/// incomplete hello or with a complete one that the handler objects to, none is accepted for 20 times as long as the
/// call took, at most 100 ms: a flood takes about 5 % of the time.
class listener {
 public:
  /// The receiver of results.
  class handler {
   public:
    /// Takes the socket of a connection whose hello is complete. Returns null, or why the connection is refused.
    virtual char const* arrive(descriptor& socket, hello const& peer_hello) = 0;
    /// Reports a refused connection, which is closed afterwards.
    virtual void refuse(descriptor const& socket, char const* reason) = 0;

   protected:
    ~handler() = default;
  };

  listener(address const& at, waiter& event_waiter, duration handshake_limit);

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] address listening_address() const noexcept { return local_address(socket_.get()); }
  /// The errno if descriptors or memory are missing to accept, else 0.
  [[nodiscard]] int resource_error() const noexcept { return pending_.resource_error(); }

  /// Begins to accept. Before, connections wait in the system's queue.
  /// @param tells_version tell peers of another version of the protocol that this is another one, instead of just
  /// closing
  void open(bool tells_version) noexcept {
    tells_version_ = tells_version;
    is_open_ = true;
    resume();
  }

  /// Accepts some of the waiting connections, and refuses pending ones whose hello is late.
  void accept_some(handler& target);

  /// Accepts and reads all connections that wait now.
  void accept_all(handler& target);

  /// Reads the pending connection at a descriptor, if it still is pending.
  void read_pending(int fd, handler& target);

  /// Refuses all pending connections, to free their descriptors. Returns false if there were none.
  bool close_pending(handler& target);

 private:
  static constexpr duration longest_pause = std::chrono::milliseconds(100);
  static constexpr int pause_factor = 20;  ///< pause after refusals, in multiples of their time

  struct pending {
    descriptor socket;
    time_point accepted_at;
    hello peer_hello = {};
    std::size_t received_bytes = 0;

    [[nodiscard]] int fd() const noexcept { return socket.get(); }
  };
  struct handshake_handler;

  void resume() noexcept;
  void pause(time_point end) noexcept;
  void pause_after_refusals(time_point begin) noexcept;
  bool accept_one(handshake_handler& adapter, time_point begin);

  waiter& waiter_;
  descriptor socket_;
  duration handshake_limit_;
  handshake_server<pending> pending_;
  time_point paused_until_{};
  int turned_away_ = 0;
  bool is_open_ = false;
  bool is_watched_ = false;
  bool tells_version_ = false;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/listener.ipp>
#endif
