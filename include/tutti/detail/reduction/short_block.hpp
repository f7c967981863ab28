// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/instructions.hpp>
#include <tutti/extend/half.hpp>

#include <concepts>
#include <cstddef>

namespace tutti::inline v0_1_0::detail::inline reduction {

#if defined(__x86_64__)

// Conversions of half by F16C; no other is fast (compilers.md: Kernels for each instruction set).

using eight_floats [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;
using eight_halves [[gnu::vector_size(16), gnu::aligned(2), gnu::may_alias]] = short;

template <std::size_t N>
[[gnu::target("avx2,f16c")]] inline void widen_halves(half const* source, float* target) {
  for (std::size_t i = 0; i < N; i += 8) {
    auto const eight = *reinterpret_cast<eight_halves const*>(source + i);
    *reinterpret_cast<eight_floats*>(target + i) = __builtin_ia32_vcvtph2ps256(eight);
  }
}

template <std::size_t N>
[[gnu::target("avx2,f16c")]] inline void narrow_halves(float const* source, half* target) {
  for (std::size_t i = 0; i < N; i += 8) {
    auto const eight = *reinterpret_cast<eight_floats const*>(source + i);
    *reinterpret_cast<eight_halves*>(target + i) =
        __builtin_ia32_vcvtps2ph256(eight, 0);  // 0: rounds to nearest in any rounding mode
  }
}

template <std::size_t N>
[[gnu::target("avx2,f16c")]] inline void round_to_halves(float* x) {
  for (std::size_t i = 0; i < N; i += 8) {
    auto& eight = *reinterpret_cast<eight_floats*>(x + i);
    eight = __builtin_ia32_vcvtph2ps256(__builtin_ia32_vcvtps2ph256(eight, 0));
  }
}

#endif

/// Converts a block of numbers to the type that they are computed in.
template <instruction_set Set, std::size_t N, class T>
[[gnu::always_inline]] inline void widen(T const* source, typename T::computed_in* target) {
#if defined(__x86_64__)
  if constexpr (std::same_as<T, half> && Set >= instruction_set::avx2 && N % 8 == 0) {
    widen_halves<N>(source, target);
  } else
#endif
    for (std::size_t i = 0; i < N; ++i) {
      target[i] = source[i];
    }
}

/// Rounds a block of numbers to the narrow format.
template <instruction_set Set, std::size_t N, class T>
[[gnu::always_inline]] inline void narrow(typename T::computed_in const* source, T* target) {
#if defined(__x86_64__)
  if constexpr (std::same_as<T, half> && Set >= instruction_set::avx2 && N % 8 == 0) {
    narrow_halves<N>(source, target);
  } else
#endif
    for (std::size_t i = 0; i < N; ++i) {
      target[i] = T(source[i]);
    }
}

/// Rounds a block of numbers to the narrow format and widens them again.
template <instruction_set Set, std::size_t N, class T>
[[gnu::always_inline]] inline void round(typename T::computed_in* x) {
#if defined(__x86_64__)
  if constexpr (std::same_as<T, half> && Set >= instruction_set::avx2 && N % 8 == 0) {
    round_to_halves<N>(x);
  } else
#endif
    for (std::size_t i = 0; i < N; ++i) {
      x[i] = T(x[i]);
    }
}

}  // namespace tutti::detail::reduction
