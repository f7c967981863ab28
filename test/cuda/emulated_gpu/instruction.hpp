// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

namespace emulated_gpu {

/// Ends the program because it did something invalid on a GPU, or unknown to this emulator.
[[noreturn]] inline void fail(std::string const& message) {
  std::fprintf(stderr, "emulated GPU: %s\n", message.c_str());
  std::fflush(stderr);
  std::abort();
}

/// Threads of a warp.
inline constexpr unsigned warp_size = 32;
/// A set of threads of a warp: one bit each.
using lane_mask = std::uint32_t;
/// One register of each thread of a warp; numbers occupy the low bits.
using lanes = std::array<std::uint64_t, warp_size>;

class warp;
struct instruction;
/// Executes an instruction in the threads of the mask.
using action = void (*)(warp&, instruction const&, lane_mask);

/// A decoded instruction. Operands are register numbers; numbers beyond the registers are constants.
struct instruction {
  enum class kind_type : std::uint8_t { compute, jump, leave, barrier, barrier_and, warp_sync, pause };
  enum class address_space : std::uint8_t { generic, parameters, global, shared };
  static constexpr std::uint32_t none = UINT32_MAX;

  kind_type kind = kind_type::compute;
  action run = nullptr;  ///< null: nothing is computed
  std::array<std::uint32_t, 4> destinations{none, none, none, none};
  std::array<std::uint32_t, 4> sources{none, none, none, none};
  std::uint32_t address = none;  ///< the operand with the memory address
  std::int64_t offset = 0;       ///< offset from that address
  address_space space = address_space::generic;
  bool is_weak = true;  ///< false: other threads may use the memory without a barrier in between
  bool fence_before = false;
  bool fence_after = false;
  std::uint32_t target = 0;       ///< destination of a jump
  std::uint32_t members = none;   ///< operand with the mask of threads that synchronise
  std::uint32_t guard = none;     ///< operand with the predicate
  bool is_guard_negated = false;  ///< true if the predicate must be false
  std::uint32_t line = 0;         ///< line in the kernel's text
};

/// Reads a number of type T from a register's low bits; its counterpart writes one.
template <class T>
[[nodiscard]] T number_in(std::uint64_t bits) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return (bits & 1) != 0;
  } else {
    T x;
    std::memcpy(&x, &bits, sizeof x);  // little-endian
    return x;
  }
}
template <class T>
[[nodiscard]] std::uint64_t bits_of(T x) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof x);
  return bits;
}

/// Calls f for each thread of the mask.
template <class F>
void for_each_lane(lane_mask mask, F const& f) {
  if (mask == UINT32_MAX) {
    for (unsigned l = 0; l != warp_size; ++l) {
      f(l);
    }
  } else {
    for (; mask != 0; mask &= mask - 1) {
      f(static_cast<unsigned>(std::countr_zero(mask)));
    }
  }
}

}  // namespace emulated_gpu
