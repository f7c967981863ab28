// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <bit>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// A hash of the bits of numbers, for comparing the final weights of trainings. (FNV-1a, by words: Fowler, Noll, Vo)
[[nodiscard]] constexpr std::uint64_t hash_of(std::span<float const> numbers) noexcept {
  std::uint64_t hash = 14695981039346656037U;
  for (float const number : numbers) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(number)) * 1099511628211U;
  }
  return hash;
}

}  // namespace tutti::nn
