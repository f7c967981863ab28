// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <concepts>

namespace tutti::inline v0_1_0::detail::inline base {

/// Converts an integer. On some platforms both types are one, and tools would call a static_cast redundant.
template <std::integral To, std::integral From>
[[nodiscard]] constexpr To integer_cast(From x) noexcept {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace tutti::detail::base
