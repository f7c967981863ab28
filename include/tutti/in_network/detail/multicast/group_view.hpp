// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/in_network/detail/multicast/lane_state.hpp>
#include <tutti/in_network/detail/udp/port.hpp>
#include <tutti/in_network/extend/udp_multicast_options.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::multicast {

using udp::header;
using udp::kind;

/// The group as one of its ranks sees it: addresses, parameters, counters, and sending of packets.
template <udp::port Port>
struct group_view {
  using address = typename Port::address;

  static constexpr std::uint16_t no_flags = 0;
  /// Flag with three meanings: in a share, "report now"; in a report, "delayed", so it measures no round trip; in a
  /// probe, "I hear all ranks".
  static constexpr std::uint16_t note = udp::flag::phase;

  Port& port;
  std::uint32_t nonce;   ///< number of the job; packets of other jobs are ignored
  std::uint32_t window;  ///< packets that a lane may have in flight; equal on all ranks
  rank_type me;
  std::vector<address> addresses;  ///< in rank order
  address group;
  udp_multicast_counters counters{};

  /// Number of packets after which a rank reports: rarely if there are many ranks, but often enough to keep the
  /// window open.
  [[nodiscard]] std::uint32_t report_every() const noexcept {
    auto const rarely = (std::max)(16U, static_cast<std::uint32_t>(addresses.size()) / 2);
    return (std::min)(rarely, (std::max)(1U, window / 4));
  }
  [[nodiscard]] header head(kind k, std::uint32_t slot) const noexcept {
    return {.kind = k,
            .operation = network_operation::copy,
            .job = nonce,
            .slot = static_cast<std::uint16_t>(slot),
            .worker = static_cast<std::uint8_t>(me),
            .workers = static_cast<std::uint8_t>(addresses.size())};
  }
  /// The header of a packet about the message of a lane.
  [[nodiscard]] header head(kind k, std::uint32_t lane, lane_state const& state, std::uint32_t number) const noexcept {
    header h = head(k, lane);
    h.sequence = number;
    h.fingerprint = state.fingerprint;
    h.wrap_count = state.wrap_count_of(number);
    return h;
  }
  bool send(address const& destination, header h, std::span<std::byte const> payload = {}) {
    h.length = static_cast<std::uint16_t>(payload.size());
    return port.send(destination, h, payload);
  }
};

}  // namespace tutti::detail::multicast
