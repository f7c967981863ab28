// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0 {

/// Settings of a rank in a `tcp` world. Ranks may differ in all of them but `encryption`. Times must not be negative;
/// `no_deadline` means one year.
struct tcp_options {
  /// The network interface: its name ("eth0") or one of its addresses. Empty: the one by which the others reach this
  /// host (`local_host()` of the rendezvous), or the loopback interface if all are on one host.
  std::string network_interface;

  /// The longest piece in bytes: longer messages are sent in several pieces, so that other lanes get their turn.
  std::size_t piece = std::size_t{1} << 20;
  /// The window per peer and lane: bytes of unexpected messages that are stored before the sender has to wait.
  std::size_t window = std::size_t{4} << 20;
  /// SO_SNDBUF; 0: the system adapts it to the connection.
  int send_buffer = 0;
  int receive_buffer = 0;  ///< SO_RCVBUF; 0: the system adapts it

  duration handshake = std::chrono::seconds(5);  ///< limit for a new connection to identify its rank
  duration connect = std::chrono::seconds(30);   ///< time during which failed attempts to connect are repeated
  duration silence = std::chrono::seconds(20);   ///< a host that answers nothing for this time is lost
  duration linger = std::chrono::seconds(10);    ///< limit for the destructor to deliver accepted messages

  /// True: all that ranks send each other is encrypted, and comes from them. Needs a secret, and <tutti/secure.hpp>.
  bool encryption = false;

  /// The unique number of this world; rank 0's applies to all. Zero: a random one.
  std::array<std::uint64_t, 2> world{};
};

}  // namespace tutti
