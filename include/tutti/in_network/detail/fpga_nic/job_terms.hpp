// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/host_map.hpp>
#include <tutti/extend/time.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// How a member is set up: the same on all, but for its number.
struct job_terms {
  std::uint32_t nonce = 0;
  std::uint32_t slot_count = 256;  ///< of a lane, a power of two
  duration lease = std::chrono::seconds(60);
  /// How long a device that was asked may be silent before the stand-in serves in its place.
  duration silence = std::chrono::milliseconds(200);
  /// This many of 256 packets go to the stand-in though there is a device.
  std::uint32_t stand_in_share = 0;
  /// Which members have one device, where each rack has its own; one rack, or none: there is one device.
  host_map racks{};

  [[nodiscard]] bool has_racks() const noexcept { return racks.hosts() > 1; }
};

}  // namespace tutti::detail::fpga_nic
