// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/instructions.hpp>
#include <tutti/detail/reduction/kernel.hpp>
#include <tutti/detail/reduction/number.hpp>
#include <tutti/detail/reduction/short_block.hpp>
#include <tutti/extend/expects.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn::detail::inline compression {

template <tutti::detail::narrow_number T>
struct to_narrow {
  static constexpr tutti::detail::instruction_set widest = tutti::detail::instruction_set::avx2;
  T operator()(float x) const { return T(x); }
  template <tutti::detail::instruction_set Set, std::size_t N>
  [[gnu::always_inline]] void block(T* to, float const* from) const {
    tutti::detail::narrow<Set, N>(from, to);
  }
};

template <tutti::detail::narrow_number T>
struct to_wide {
  static constexpr tutti::detail::instruction_set widest = tutti::detail::instruction_set::avx2;
  float operator()(T x) const { return x; }
  template <tutti::detail::instruction_set Set, std::size_t N>
  [[gnu::always_inline]] void block(float* to, T const* from) const {
    tutti::detail::widen<Set, N>(from, to);
  }
};

/// Rounds each number to the nearest one of a 16-bit format. Overflow gives infinity, NaN stays NaN.
/// @pre both spans have one length
template <tutti::detail::narrow_number T>
void narrow(std::span<float const> from, std::span<T> to) {
  expects(from.size() == to.size(), "narrow: source and target must have one size, not ", from.size(), " and ",
          to.size());
  tutti::detail::run(to_narrow<T>{}, from.size(), to.data(), from.data());
}

/// Converts numbers of a 16-bit format to float, exactly.
template <tutti::detail::narrow_number T>
void widen(std::span<T const> from, std::span<float> to) {
  expects(from.size() == to.size(), "widen: source and target must have one size, not ", from.size(), " and ",
          to.size());
  tutti::detail::run(to_wide<T>{}, from.size(), to.data(), from.data());
}

#ifdef TUTTI_SEPARATE_COMPILATION
extern template void narrow(std::span<float const>, std::span<half>);
extern template void narrow(std::span<float const>, std::span<bfloat16>);
extern template void widen(std::span<half const>, std::span<float>);
extern template void widen(std::span<bfloat16 const>, std::span<float>);
#endif

}  // namespace tutti::nn::detail::compression
