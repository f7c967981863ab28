// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/instructions.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tutti::inline v0_1_0::detail::inline reduction {

TUTTI_DECL instruction_set available_instructions() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  bool const f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & static_cast<unsigned>(bit_F16C)) != 0;
  if (f16c && __builtin_cpu_supports("avx2")) {  // true only if the system saves the registers
    bool const wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vbmi2");
    return wide ? instruction_set::avx512 : instruction_set::avx2;
  }
#endif
  return instruction_set::baseline;
}

TUTTI_DECL void limit_instructions(instruction_set limit) noexcept {
  instruction_set const best = available_instructions();
  detail::chosen_instructions.store(limit < best ? limit : best, std::memory_order_relaxed);
}

}  // namespace tutti::detail::reduction
