// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace tutti {

template <class T>
[[nodiscard]] std::byte* bytes_of(std::span<T> v) noexcept {
  return reinterpret_cast<std::byte*>(v.data());
}
template <class T>
[[nodiscard]] std::byte const* bytes_of(std::span<T const> v) noexcept {
  return reinterpret_cast<std::byte const*>(v.data());
}

/// Whether two regions are one and the same, or share nothing.
template <class T>
[[nodiscard]] bool same_or_apart(std::span<T const> a, std::span<T> b) noexcept {
  return (a.data() == b.data() && a.size() == b.size()) || a.empty() || b.empty() || a.data() + a.size() <= b.data() ||
         b.data() + b.size() <= a.data();
}

/// Whether two regions share nothing.
template <class T>
[[nodiscard]] bool disjoint(std::span<T const> a, std::span<T> b) noexcept {
  return a.empty() || b.empty() || a.data() + a.size() <= b.data() || b.data() + b.size() <= a.data();
}

}  // namespace tutti
