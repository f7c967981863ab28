// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tutti::detail {

/// What the kernels of reductions are compiled for: the processor that the program is compiled for and,
/// on x86-64, what other processors have, chosen at run time. All give the same bits.
enum class instruction_set : unsigned char { baseline = 1, avx2, avx512 };

/// Nothing until the first kernel asks. Any thread may find the answer: all find the same one.
inline constinit std::atomic<instruction_set> chosen_instructions{};

/// The best instructions of this processor that the kernels have a use for. `avx2` includes F16C, and
/// `avx512` means the processors since Ice Lake and Zen 4: older ones lower their clock for wide registers.
template <class = void>
[[nodiscard]] instruction_set available_instructions() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  bool const f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & static_cast<unsigned>(bit_F16C)) != 0;
  if (f16c && __builtin_cpu_supports("avx2")) {  // and the system saves the registers
    bool const wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vbmi2");
    return wide ? instruction_set::avx512 : instruction_set::avx2;
  }
#endif
  return instruction_set::baseline;
}

/// What the kernels use. Cost: one relaxed load, but for the first call.
template <class = void>
[[nodiscard]] instruction_set instructions() noexcept {
  instruction_set set = detail::chosen_instructions.load(std::memory_order_relaxed);
  if (set == instruction_set{}) [[unlikely]] {
    set = available_instructions();
    detail::chosen_instructions.store(set, std::memory_order_relaxed);
  }
  return set;
}

/// Has the kernels of this process use no more than `most`, from the next fold on: to compare, or to
/// rule something out. Any thread may call it, at any time.
template <class = void>
void limit_instructions(instruction_set most) noexcept {
  instruction_set const best = available_instructions();
  detail::chosen_instructions.store(most < best ? most : best, std::memory_order_relaxed);
}

}  // namespace tutti::detail
