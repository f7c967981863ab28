// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// What a member has seen of its servers.
struct member_counters {
  std::uint64_t sent = 0;      ///< contributions
  std::uint64_t repeated = 0;  ///< of these, those that were sent before
  std::uint64_t results = 0;
  std::uint64_t by_stand_in = 0;  ///< of these, those that did not come from the device
  std::uint64_t supplied = 0;     ///< results that other members had lost
  std::uint64_t queries = 0;
  std::uint64_t ignored = 0;   ///< packets that belong to nothing that is under way
  std::uint64_t silences = 0;  ///< of the device: how often it was given up
};

}  // namespace tutti::detail::fpga_nic
