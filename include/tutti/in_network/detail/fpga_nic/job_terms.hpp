// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/host_map.hpp>
#include <tutti/extend/time.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Settings of a member; equal on all members.
struct job_terms {
  std::uint32_t nonce = 0;
  std::uint32_t slot_count = 256;  ///< number for a lane, a power of two
  duration lease = std::chrono::seconds(60);
  /// Time without any packet of the device, from the first query without an answer, after which it is given up.
  duration silence = std::chrono::milliseconds(200);
  /// Share of packets, of 256, that go to the stand-in in spite of a device.
  std::uint32_t stand_in_share = 0;
  /// Racks of the members, if each rack has a device. With one rack or none there is one device.
  host_map racks{};

  [[nodiscard]] bool has_racks() const noexcept { return racks.hosts() > 1; }
};

}  // namespace tutti::detail::fpga_nic
