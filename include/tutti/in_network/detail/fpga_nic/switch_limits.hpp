// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_layout.hpp>
#include <tutti/in_network/detail/udp/packet.hpp>
#include <tutti/in_network/detail/udp/siphash.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Limits of a device, in total and for each job.
struct switch_limits {
  unsigned jobs = 16;
  unsigned members = max_workers;             ///< maximum of a job
  std::uint16_t slot_count = UINT16_MAX;      ///< maximum of a job
  std::uint16_t slots_in_order = UINT16_MAX;  ///< maximum of a job that adds in rank order
  std::uint32_t keys = UINT32_MAX;            ///< maximum of a job: blocks of weights
  std::size_t memory = std::size_t{256} << 20;
  duration lease = std::chrono::seconds(60);  ///< the longest
  bool awaits_weights = false;                ///< accepts contributions to updates before the weights are there
  rack_layout racks{};                        ///< by member, for all jobs; see slot_table
  /// A key that no sender knows, or none. With a key, a sender that begins a job must prove its address, and idle
  /// jobs, or those of a host that has begun many, may be evicted.
  std::optional<secret_key> guard{};
};

}  // namespace tutti::detail::fpga_nic
