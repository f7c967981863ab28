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
  [[gnu::always_inline]] void block(T* destination, float const* source) const {
    tutti::detail::narrow<Set, N>(source, destination);
  }
};

template <tutti::detail::narrow_number T>
struct to_wide {
  static constexpr tutti::detail::instruction_set widest = tutti::detail::instruction_set::avx2;
  float operator()(T x) const { return x; }
  template <tutti::detail::instruction_set Set, std::size_t N>
  [[gnu::always_inline]] void block(float* destination, T const* source) const {
    tutti::detail::widen<Set, N>(source, destination);
  }
};

/// Rounds each number to the nearest one of a 16-bit format. Overflow gives infinity, NaN stays NaN.
/// @pre both spans have one length
template <tutti::detail::narrow_number T>
void narrow(std::span<float const> source, std::span<T> destination) {
  expects(source.size() == destination.size(), "narrow: source and target must have one size, not ", source.size(),
          " and ", destination.size());
  tutti::detail::run(to_narrow<T>{}, source.size(), destination.data(), source.data());
}

/// Converts numbers of a 16-bit format to float, exactly.
template <tutti::detail::narrow_number T>
void widen(std::span<T const> source, std::span<float> destination) {
  expects(source.size() == destination.size(), "widen: source and target must have one size, not ", source.size(),
          " and ", destination.size());
  tutti::detail::run(to_wide<T>{}, source.size(), destination.data(), source.data());
}

#ifdef TUTTI_SEPARATE_COMPILATION
extern template void narrow(std::span<float const>, std::span<half>);
extern template void narrow(std::span<float const>, std::span<bfloat16>);
extern template void widen(std::span<half const>, std::span<float>);
extern template void widen(std::span<bfloat16 const>, std::span<float>);
#endif

}  // namespace tutti::nn::detail::compression
