// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_places.hpp>
#include <tutti/in_network/detail/udp/packet.hpp>
#include <tutti/in_network/detail/udp/siphash.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// What a device gives to all jobs, and to each.
struct switch_limits {
  unsigned jobs = 16;
  unsigned members = max_workers;             ///< of a job
  std::uint16_t slot_count = UINT16_MAX;      ///< of a job
  std::uint16_t slots_in_order = UINT16_MAX;  ///< of a job that adds in rank order
  std::uint32_t keys = UINT32_MAX;            ///< of a job: blocks of weights
  std::size_t memory = std::size_t{256} << 20;
  duration lease = std::chrono::seconds(60);  ///< the longest
  bool awaits_weights = false;                ///< contributions to updates are taken before there are the weights
  rack_places racks{};                        ///< of members: see `slots`. Of all jobs
  /// With a key, which no sender knows: a sender that begins a job has to prove its address first, and jobs that have
  /// done nothing, or of which one host has begun many, make way for others.
  std::optional<key> guard{};
};

}  // namespace tutti::detail::fpga_nic
