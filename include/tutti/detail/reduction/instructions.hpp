// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <atomic>

namespace tutti::inline v0_1_0::detail::inline reduction {

/// The instruction sets that the kernels of reductions are compiled for: that of the program's flags and, on x86-64,
/// two more, which are chosen at run time. All give the same bits.
enum class instruction_set : unsigned char { baseline = 1, avx2, avx512 };

/// The chosen set, or 0 before the first kernel runs. Threads may race to store it: all of them store the same value.
inline constinit std::atomic<instruction_set> chosen_instructions{};

/// The best instruction set of this processor that the kernels can use. `avx2` includes F16C. `avx512` means Ice Lake,
/// Zen 4 and newer processors: older ones lower their clock for wide registers.
[[nodiscard]] TUTTI_DECL instruction_set available_instructions() noexcept;

/// The instruction set of the kernels. Cost: one relaxed load, except in the first call.
[[nodiscard]] inline instruction_set instructions() noexcept {
  instruction_set set = detail::chosen_instructions.load(std::memory_order_relaxed);
  if (set == instruction_set{}) [[unlikely]] {
    set = available_instructions();
    detail::chosen_instructions.store(set, std::memory_order_relaxed);
  }
  return set;
}

/// Limits the kernels of this process to `limit`, from the next fold on: for benchmarks and tests. Any thread may call
/// it, at any time.
TUTTI_DECL void limit_instructions(instruction_set limit) noexcept;

}  // namespace tutti::detail::reduction

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/reduction/instructions.ipp>
#endif
