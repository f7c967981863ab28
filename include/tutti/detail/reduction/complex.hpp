// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/product.hpp>
#include <tutti/detail/reduction/number.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/extend/types.hpp>

#include <string_view>

/// Sums and products of complex numbers of any class, without <complex>, which is slow to compile.
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

/// The textbook formula, also for infinities and NaNs, which std::complex treats specially. Products are rounded before
/// they are added (`product`), even in programs that allow fused multiply-add. Otherwise a b and b a could differ in
/// their bits, and so could two processors.
template <complex_number T>
struct complex_prod : of_complex<T> {
  static constexpr std::string_view name = "prod";

  /// An identity except for the signs of zeros.
  [[nodiscard]] static constexpr T identity() noexcept { return T(1, 0); }

  [[nodiscard]] static constexpr T combine(T a, T b) noexcept {
    return T(product(a.real(), b.real()) - product(a.imag(), b.imag()),
             product(a.real(), b.imag()) + product(a.imag(), b.real()));
  }
};

}  // namespace tutti::detail::reduction
