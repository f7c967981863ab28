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

/// Ends the program: it has done what a GPU would not do, or what this one does not know.
[[noreturn]] inline void fail(std::string const& why) {
  std::fprintf(stderr, "emulated GPU: %s\n", why.c_str());
  std::fflush(stderr);
  std::abort();
}

/// Threads that run in step.
inline constexpr unsigned warp_size = 32;
/// One bit for each of them.
using lane_mask = std::uint32_t;
/// A register of each: numbers lie in the low bits.
using lanes = std::array<std::uint64_t, warp_size>;

class warp;
struct instruction;
/// What an instruction does in the threads of the mask.
using action = void (*)(warp&, instruction const&, lane_mask);

/// As it is run. Operands are numbers of registers, or behind these of constants.
struct instruction {
  enum class kind : std::uint8_t { compute, jump, leave, barrier, barrier_of_all, meeting, pause };
  enum class room : std::uint8_t { anywhere, parameters, global, shared };
  static constexpr std::uint32_t none = UINT32_MAX;

  kind what = kind::compute;
  action run = nullptr;  ///< null: nothing is computed
  std::array<std::uint32_t, 4> to{none, none, none, none};
  std::array<std::uint32_t, 4> from{none, none, none, none};
  std::uint32_t address = none;  ///< of memory
  std::int64_t offset = 0;       ///< to it
  room where = room::anywhere;   ///< it is
  bool is_weak = true;           ///< other threads must not use it without a barrier in between
  bool fence_before = false;
  bool fence_behind = false;
  std::uint32_t target = 0;      ///< of a jump
  std::uint32_t members = none;  ///< of a warp, that meet
  std::uint32_t guard = none;    ///< a predicate
  bool unless = false;           ///< it must be false
  std::uint32_t line = 0;        ///< of the kernel's text
};

/// A number of type T in the low bits of a register, and back.
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
