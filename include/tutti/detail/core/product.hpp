// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <concepts>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::inline core {

/// a * b, rounded before any addition on every processor: no compiler fuses the two.
template <std::floating_point T>
[[nodiscard]] constexpr T product(T a, T b) noexcept {
#if defined(__CUDA_ARCH__)
  if (!std::is_constant_evaluated()) {
    T c;
    if constexpr (sizeof(T) == sizeof(float)) {
      asm("mul.rn.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    } else {
      asm("mul.rn.f64 %0, %1, %2;" : "=d"(c) : "d"(a), "d"(b));
    }
    return c;
  }
  return a * b;
#elif defined(__clang__)
#pragma clang fp contract(off)
  return a * b;
#elif defined(__CUDACC__)  // compilers.md: A product without fusion
  T c = a * b;
  if (!std::is_constant_evaluated()) {
    asm("" : "+m"(c));
  }
  return c;
#elif defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__FMA4__) || defined(__AVX512F__)
  // compilers.md: A product without fusion. A pragma "target" sets only the last three of these macros.
  T c = a * b;
  if (!std::is_constant_evaluated()) {
#if defined(__x86_64__)
    asm("" : "+x"(c));
#elif defined(__aarch64__)
    asm("" : "+w"(c));
#else
    asm("" : "+m"(c));
#endif
  }
  return c;
#else
  return __builtin_assoc_barrier(a * b);
#endif
}

}  // namespace tutti::detail::core
