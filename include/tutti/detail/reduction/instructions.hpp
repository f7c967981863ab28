// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <atomic>

namespace tutti::inline v0_1_0::detail::inline reduction {

/// What the kernels of reductions are compiled for: the processor that the program is compiled for and,
/// on x86-64, what other processors have, chosen at run time. All give the same bits.
enum class instruction_set : unsigned char { baseline = 1, avx2, avx512 };

/// Nothing until the first kernel asks. Any thread may find the answer: all find the same one.
inline constinit std::atomic<instruction_set> chosen_instructions{};

/// The best instructions of this processor that the kernels have a use for. `avx2` includes F16C, and
/// `avx512` means the processors since Ice Lake and Zen 4: older ones lower their clock for wide registers.
[[nodiscard]] TUTTI_DECL instruction_set available_instructions() noexcept;

/// What the kernels use. Cost: one relaxed load, but for the first call.
[[nodiscard]] inline instruction_set instructions() noexcept {
  instruction_set set = detail::chosen_instructions.load(std::memory_order_relaxed);
  if (set == instruction_set{}) [[unlikely]] {
    set = available_instructions();
    detail::chosen_instructions.store(set, std::memory_order_relaxed);
  }
  return set;
}

/// Has the kernels of this process use no more than `most`, from the next fold on: to compare, or to
/// rule something out. Any thread may call it, at any time.
TUTTI_DECL void limit_instructions(instruction_set most) noexcept;

}  // namespace tutti::detail::reduction

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/reduction/instructions.ipp>
#endif
