// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::multicast {

/// What a member has sent to its group, and heard of it.
struct member_counters {
  std::uint64_t sent = 0;      ///< packets to the group, each for the first time
  std::uint64_t repeated = 0;  ///< that were sent again, to the group
  std::uint64_t alone = 0;     ///< that were sent again, to a rank
  std::uint64_t reports = 0;   ///< of how far this rank has come
  std::uint64_t asked = 0;     ///< questions to ranks that were silent
  std::uint64_t ignored = 0;   ///< packets that belong to nothing that is under way
};

}  // namespace tutti::detail::multicast
