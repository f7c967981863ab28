// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>
#include <tutti/detail/engine/refusals.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::detail::inline engine {

template <class T>
[[nodiscard]] std::byte* bytes_of(std::span<T> v) noexcept {
  return reinterpret_cast<std::byte*>(v.data());
}
template <class T>
[[nodiscard]] std::byte const* bytes_of(std::span<T const> v) noexcept {
  return reinterpret_cast<std::byte const*>(v.data());
}

/// The region of `count` elements of this size, an argument of an operation: both names are for the error.
/// @throws precondition_error if it is null and not empty, or larger than any memory
[[nodiscard]] inline std::span<std::byte> bytes_at(char const* operation, char const* argument, void* data,
                                                   std::size_t count, std::size_t size) {
  return {static_cast<std::byte*>(data), expect_region(operation, argument, data != nullptr, count, size)};
}
[[nodiscard]] inline std::span<std::byte const> bytes_at(char const* operation, char const* argument, void const* data,
                                                         std::size_t count, std::size_t size) {
  return {static_cast<std::byte const*>(data), expect_region(operation, argument, data != nullptr, count, size)};
}

/// True if two regions do not overlap.
template <class T, class U>
[[nodiscard]] bool disjoint(std::span<T const> a, std::span<U> b) noexcept {
  std::byte const* const first = bytes_of(a);
  std::byte const* const second = bytes_of(b);
  return a.empty() || b.empty() || first + a.size_bytes() <= second || second + b.size_bytes() <= first;
}

/// True if two regions are identical or do not overlap.
template <class T, class U>
[[nodiscard]] bool same_or_apart(std::span<T const> a, std::span<U> b) noexcept {
  if constexpr (std::same_as<T, U>) {
    if (a.data() == b.data() && a.size() == b.size()) {
      return true;
    }
  }
  return disjoint(a, b);
}

}  // namespace tutti::detail::engine
