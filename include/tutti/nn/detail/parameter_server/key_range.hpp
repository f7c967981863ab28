// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// A range of consecutive parameters. A key is the index of a parameter in the vector of all.
struct key_range {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] constexpr std::size_t size() const noexcept { return end - begin; }
  [[nodiscard]] constexpr bool contains(key_range other) const noexcept {
    return begin <= other.begin && other.end <= end;
  }
  [[nodiscard]] constexpr bool overlaps(key_range other) const noexcept {
    return begin < other.end && other.begin < end;
  }
  friend constexpr bool operator==(key_range, key_range) = default;
};

/// The intersection; empty if there is none.
[[nodiscard]] constexpr key_range intersection(key_range a, key_range b) noexcept {
  std::size_t const begin = a.begin < b.begin ? b.begin : a.begin;
  std::size_t const end = a.end < b.end ? a.end : b.end;
  return {begin, end < begin ? begin : end};
}

}  // namespace tutti::nn::parameter_server::detail
