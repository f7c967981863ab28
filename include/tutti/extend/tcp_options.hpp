// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0 {

/// Settings of a rank in a `tcp` world. The ranks may differ in everything but `world`. Times are not negative, and
/// `no_deadline` is as good as a year.
struct tcp_options {
  /// The network interface to use: its name ("eth0") or one of its addresses. Empty: the one that the
  /// rendezvous says the others reach (its `local_host()`), or the loopback interface if all are on one host.
  std::string network_interface;

  /// Longer messages travel in pieces of this many bytes, so that those of other lanes get their turn.
  std::size_t piece = std::size_t{1} << 20;
  /// This many bytes that no operation waits for yet are kept per peer and lane; the sender waits then.
  std::size_t window = std::size_t{4} << 20;
  /// SO_SNDBUF; 0 leaves it to the system, which adapts it to the connection.
  int send_buffer = 0;
  int receive_buffer = 0;  ///< SO_RCVBUF; 0 leaves it to the system

  duration handshake = std::chrono::seconds(5);  ///< what a new connection has to say which rank it is
  duration connect = std::chrono::seconds(30);   ///< how long failing attempts to connect are repeated
  duration silence = std::chrono::seconds(20);   ///< a host that answers nothing for so long is lost
  duration linger = std::chrono::seconds(10);    ///< what the destructor has to hand over what was accepted

  /// Number that tells this world from all others; rank 0's counts. Zero: a random one.
  std::array<std::uint64_t, 2> world{};
};

}  // namespace tutti
