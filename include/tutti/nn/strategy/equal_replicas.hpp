// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace tutti::nn {

/// What strategies share whose ranks all take part in every step and end it with the same weights.
struct equal_replicas {
  [[nodiscard]] static constexpr bool equal() noexcept { return true; }
  [[nodiscard]] static constexpr bool takes_part() noexcept { return true; }
  static constexpr void unite(std::span<float>) noexcept {}
  static constexpr void resume(std::span<float>) noexcept {}
};

}  // namespace tutti::nn
