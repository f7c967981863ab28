// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <bit>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline core {

/// How processes of this build lay numbers and addresses out in memory: "64-bit little-endian". Processes for which it
/// is the same can read each other's messages, whatever the processor.
[[nodiscard]] constexpr std::string_view machine_kind() noexcept {
  constexpr bool little = std::endian::native == std::endian::little;
  if constexpr (sizeof(void*) == 8) {
    return little ? "64-bit little-endian" : "64-bit big-endian";
  } else {
    return little ? "32-bit little-endian" : "32-bit big-endian";
  }
}

}  // namespace tutti::detail::core
