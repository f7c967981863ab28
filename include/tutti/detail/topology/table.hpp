// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline topology {

/// An array of a fixed number of values, which are read without a function call, for constant expressions
/// (compilers.md: All compilers).
template <class T>
struct table {
  T* at = nullptr;

  constexpr table() = default;
  constexpr explicit table(std::size_t n) : at(new T[n]{}) {}
  constexpr table(table&& other) noexcept : at(std::exchange(other.at, nullptr)) {}
  constexpr table& operator=(table&& other) noexcept {
    std::swap(at, other.at);
    return *this;
  }
  constexpr ~table() { delete[] at; }
};

}  // namespace tutti::detail::topology
