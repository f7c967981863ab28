// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/number.hpp>
#include <tutti/extend/element.hpp>

#include <concepts>
#include <cstddef>

namespace tutti::inline v0_1_0 {

/// Elements that have a sum and a product: numbers, and complex numbers.
template <class T>
concept field_number = detail::number<T> || complex_number<T>;

/// Elements that the bitwise reductions combine.
template <class T>
concept bits = detail::integer<T> || std::same_as<T, std::byte>;

}  // namespace tutti
