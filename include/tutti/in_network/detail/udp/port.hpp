// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/udp/packet.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::detail::udp {

/// The callable that `drain` takes: source, bytes of a packet, and true if the packet had an ECN mark.
struct packet_sink {
  template <class Address>
  void operator()(Address const& source, std::span<std::byte const> bytes, bool has_ecn_mark) const noexcept;
};

/// Transmission of packets. A port carries packets to addresses, and may lose, repeat and reorder them.
///
///   - `send` queues a packet, written with the port's seal; returns false, and queues nothing, if there is no room.
///   - `use` sets the seal of later packets.
///   - `flush` hands queued packets to the network; returns false if some remain because the network has no room.
///   - `drain` calls a function for some of the received packets, and returns their number, 0 if there are none.
///   - `descriptor` is readable when there are received packets.
///
/// A port allocates nothing per packet. One thread at a time uses it.
template <class P>
concept port = std::equality_comparable<typename P::address> && std::copyable<typename P::address> &&
               requires(P p, P const c, typename P::address const destination, header const h,
                        std::span<std::byte const> payload, seal const& packet_seal) {
                 { p.use(packet_seal) } -> std::same_as<void>;
                 { p.send(destination, h, payload) } -> std::same_as<bool>;
                 { p.flush() } -> std::same_as<bool>;
                 { p.drain(packet_sink{}) } -> std::same_as<std::size_t>;
                 { c.descriptor() } -> std::same_as<int>;
                 { c.own_address() } -> std::same_as<typename P::address>;
               };

/// Counters of a port.
struct port_counters {
  std::uint64_t sent_packets = 0;      ///< packets
  std::uint64_t received_packets = 0;  ///< packets
  std::uint64_t writes = 0;            ///< system calls
  std::uint64_t reads = 0;
  std::uint64_t no_room = 0;   ///< packets refused because the socket buffer was full
  std::uint64_t failures = 0;  ///< packets that the system refused to send
  std::uint64_t losses = 0;    ///< packets lost on purpose, or because the receiver had no room
};

}  // namespace tutti::detail::udp
