// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::detail::udp {

/// What a port may call with what came: `from`, the bytes of a packet, and whether it came marked by ECN.
struct packet_sink {
  template <class Address>
  void operator()(Address const& from, std::span<std::byte const> bytes, bool congested) const noexcept;
};

/// How packets travel. A port carries them to addresses, perhaps: it may lose, repeat and reorder them.
///
///   - `send` queues a packet, written with the port's seal; false if there is no room, then it is not queued.
///   - `flush` gives what is queued to the network; false if some is left, for which there is no room there now.
///   - `drain` calls a function with some packets that have come, as they came, and returns how many; 0: there are
///   none.
///   - `descriptor` is readable when there are some.
///
/// Nothing is allocated per packet. One thread at a time uses a port.
template <class P>
concept port =
    std::equality_comparable<typename P::address> && std::copyable<typename P::address> &&
    requires(P p, P const c, typename P::address const to, header const h, std::span<std::byte const> payload) {
      { p.send(to, h, payload) } -> std::same_as<bool>;
      { p.flush() } -> std::same_as<bool>;
      { p.drain(packet_sink{}) } -> std::same_as<std::size_t>;
      { c.descriptor() } -> std::same_as<int>;
      { c.local() } -> std::same_as<typename P::address>;
    };

/// What a port has carried.
struct port_counters {
  std::uint64_t sent = 0;      ///< packets
  std::uint64_t received = 0;  ///< packets
  std::uint64_t writes = 0;    ///< system calls
  std::uint64_t reads = 0;
  std::uint64_t no_room = 0;  ///< packets that were not taken, because the system took none
  std::uint64_t failed = 0;   ///< packets that the system refused to send
  std::uint64_t lost = 0;     ///< packets that were lost on purpose, or for want of room where they went
};

}  // namespace tutti::detail::udp
