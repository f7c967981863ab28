// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/product.hpp>
#include <tutti/detail/reduction/number.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/extend/types.hpp>

#include <string_view>

/// Sums and products of complex numbers, whatever class they are of: <complex> itself is dear, and not needed.
namespace tutti::inline v0_1_0::detail::inline reduction {

template <complex_number T>
struct of_complex {
  using value_type = T;
  using accumulator_type = T;
  static constexpr bool commutative = true;
  static constexpr bool associative = false;
  static constexpr bool symmetric = true;
  static constexpr bool lifts = false;

  [[nodiscard]] static constexpr T lift(T x) noexcept { return x; }
  [[nodiscard]] static constexpr T lower(T a, rank_type) noexcept {
    return T(canonical(a.real()), canonical(a.imag()));
  }
};

template <complex_number T>
struct complex_sum : of_complex<T> {
  static constexpr std::string_view name = "sum";
  static constexpr bool fuses = false;

  [[nodiscard]] static constexpr T identity() noexcept {
    using part = typename T::value_type;
    return T(-part{}, -part{});
  }
  [[nodiscard]] static constexpr T combine(T a, T b) noexcept { return T(a.real() + b.real(), a.imag() + b.imag()); }
};

/// What infinities and NaNs give is what the formula gives; std::complex asks once more then. Products are rounded
/// before they are added, or a b and b a would differ in their bits, and one processor's from another's: the kernels
/// are compiled without fused multiply-add, and combine asks for it in programs that are compiled with.
template <complex_number T>
struct complex_prod : of_complex<T> {
  static constexpr std::string_view name = "prod";

  /// Exact but for the signs of zeros.
  [[nodiscard]] static constexpr T identity() noexcept { return T(1, 0); }

  [[nodiscard]] static constexpr T combine(T a, T b) noexcept {
    return T(product(a.real(), b.real()) - product(a.imag(), b.imag()),
             product(a.real(), b.imag()) + product(a.imag(), b.real()));
  }
};

}  // namespace tutti::detail::reduction
