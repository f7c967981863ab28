// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/instructions.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// Loops over spans: target[i] = f(source[i]...), for any function f. `target` may be one of the operands, else it
/// overlaps none. So no element depends on another, and a pragma says that. Loops run in blocks of a constant number of
/// elements (compilers.md: Loops over elements).
///
/// On x86-64 each loop is compiled for three instruction sets, with f inlined, and the processor chooses at run time.
/// test/reduction/vectorised checks the instructions.
///
/// All sets give the same bits. Only fused multiply-add, which rounds once instead of twice, could change them. So AVX2
/// is used without it. AVX-512 always includes it, so only functions that permit it (`F::widest`) are compiled for
/// that. Functions that are rare may be compiled for the program's own set alone. A program's flags may allow it
/// everywhere (-mfma, -mavx512f, -march=native); `product` is not fused even then.
#if defined(__CUDACC__)  // compilers.md: Smaller gaps
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace tutti::inline v0_1_0::detail::inline reduction {

template <class... T>
[[nodiscard]] consteval std::size_t largest() {
  std::size_t size = 0;
  ((size = sizeof(T) > size ? sizeof(T) : size), ...);
  return size;
}

/// The number of elements in a block: the function's `own_block`, or a cache line.
template <class F, class... T>
inline constexpr std::size_t block_elements = [] {
  if constexpr (requires { F::own_block; }) {
    if (F::own_block != 0) {
      return std::size_t{F::own_block};
    }
  }
  return largest<T...>() < 64 ? 64 / largest<T...>() : 1;
}();

template <std::size_t N>
using constant = std::integral_constant<std::size_t, N>;

/// True if loops run in blocks (compilers.md: Plain loops).
#if defined(__clang__)
inline constexpr bool uses_blocks = false;
#else
inline constexpr bool uses_blocks = true;
#endif

/// Computes one block of `n` elements. `n` is a number or a constant.
template <class Count, class F, class To, class... From>
[[gnu::always_inline]] inline void do_block(Count n, F const& f, To* target, From const*... source) {
  std::size_t const count = n;
#if !defined(__clang__)
  // compilers.md: Loops over elements
#pragma GCC unroll 1
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < count; ++i) {
    target[i] = f(source[i]...);
  }
}

/// Computes `n` elements; `target` may be an operand (compilers.md: Plain loops).
template <class Count, class F, class To, class Local, class... Rest>
[[gnu::always_inline]] inline void do_loop(Count n, F const& f, To* target, Local const* local, Rest const*... rest) {
  if constexpr (!uses_blocks && std::is_same_v<To, Local>) {
    if (target == local) {
      do_block(n, f, target, target, rest...);
      return;
    }
  }
  if constexpr (!uses_blocks && (std::is_same_v<To, Rest> && ... && (sizeof...(Rest) == 1))) {
    bool const is_rest = (... && (target == rest));
    if (is_rest) {
      do_block(n, f, target, local, target);
      return;
    }
  }
  do_block(n, f, target, local, rest...);
}

/// A function with its own code for a block, `f.block<Set, N>(target, source...)`. It reads all before it writes.
template <instruction_set Set, std::size_t N, class F, class To, class... From>
concept does_blocks =
    requires(F const& f, To* target, From const*... source) { f.template block<Set, N>(target, source...); };

/// Computes the elements from number `position` on.
template <instruction_set Set, class F, class To, class... From>
[[gnu::always_inline]] inline void do_all(F const& f, std::size_t position, std::size_t n, To* target,
                                          From const*... source) {
  constexpr std::size_t block = block_elements<F, To, From...>;
  if constexpr (does_blocks<Set, block, F, To, From...>) {
    for (; position + block <= n; position += block) {
      f.template block<Set, block>(target + position, (source + position)...);
    }
  } else if constexpr (uses_blocks) {
    for (; position + block <= n; position += block) {
      do_block(constant<block>{}, f, target + position, (source + position)...);
    }
  }
  do_loop(n - position, f, target + position, (source + position)...);
}

#if defined(__x86_64__)

/// The size from which results bypass the caches, where they would not stay. Streaming stores write whole lines without
/// reading them first. See bench/results/fold.md.
inline constexpr std::size_t streamed_bytes = std::size_t{8} << 20;

/// Writes a cache line by streaming stores. @pre `target` is aligned to 64 bytes
[[gnu::target("avx2"), gnu::always_inline]] inline void stream_line(void const* line, void* target) noexcept {
  // Reads 16 bytes at a time: store forwarding works if the store was as wide or wider.
  using vector [[gnu::vector_size(16), gnu::may_alias]] = float;
  auto const* const source = static_cast<vector const*>(line);
  auto* const vectors = static_cast<vector*>(target);
  for (int i = 0; i < 4; ++i) {
    asm volatile("vmovntps %1, %0" : "=m"(vectors[i]) : "x"(source[i]));
  }
}

/// Computes all elements but those of the last line, out of place, by streaming stores. Returns their number.
/// @pre n elements reach beyond the first line that begins in `target`
template <instruction_set Set, class F, class To, class... From>
[[gnu::target("avx2"), gnu::always_inline]] inline std::size_t do_streamed(F const& f, std::size_t n, To* target,
                                                                           From const*... source) {
  constexpr std::size_t line = 64 / sizeof(To);
  constexpr std::size_t block = line > block_elements<F, To, From...> ? line : block_elements<F, To, From...>;
  std::size_t position = (0 - reinterpret_cast<std::uintptr_t>(target)) % 64 / sizeof(To);
  do_block(position, f, target, source...);
  for (; position + block <= n; position += block) {
    alignas(64) std::byte lines[block * sizeof(To)];
    asm("" : "=m"(lines));  // compilers.md: False warnings
    auto* const results = reinterpret_cast<To*>(lines);
    if constexpr (does_blocks<Set, block, F, To, From...>) {
      f.template block<Set, block>(results, (source + position)...);
    } else {
      do_block(constant<block>{}, f, results, (source + position)...);
    }
    for (std::size_t i = 0; i < block; i += line) {
      stream_line(results + i, target + position + i);
    }
  }
  asm volatile("sfence" ::: "memory");  // orders the streaming stores before later stores, which publish the results
  return position;
}

template <instruction_set Set, class F, class To, class... From>
[[gnu::target("avx2"), gnu::always_inline]] inline void do_wide(F const& f, std::size_t n, To* target,
                                                                From const*... source) {
  std::size_t position = 0;
  if constexpr (64 % sizeof(To) == 0) {
    bool const in_place = ((static_cast<void const*>(source) == target) || ...);  // lines of an operand are read anyway
    if (n * sizeof(To) >= streamed_bytes && !in_place && reinterpret_cast<std::uintptr_t>(target) % sizeof(To) == 0) {
      position = do_streamed<Set>(f, n, target, source...);
    }
  }
  do_all<Set>(f, position, n, target, source...);
}

template <class F, class To, class... From>
[[gnu::target("avx2,f16c"), gnu::flatten, gnu::noinline]] void run_avx2(F const f, std::size_t n, To* target,
                                                                        From const*... source) {
  do_wide<instruction_set::avx2>(f, n, target, source...);
}

template <class F, class To, class... From>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl"), gnu::flatten, gnu::noinline]] void run_avx512(
    F const f, std::size_t n, To* target, From const*... source) {
  do_wide<instruction_set::avx512>(f, n, target, source...);
}

#endif

/// The size of results below which the baseline runs, because the choice would cost more than it gains. Functions with
/// their own code for blocks gain from one block on.
inline constexpr std::size_t short_bytes = 256;

/// Computes target[i] = f(source[i]...) for n elements.
template <class F, class To, class... From>
void run(F const f, std::size_t n, To* target, From const*... source) {
#if defined(__x86_64__)
  if constexpr (F::widest >= instruction_set::avx2) {
    constexpr std::size_t block = block_elements<F, To, From...>;
    constexpr bool has_own_code = does_blocks<instruction_set::avx2, block, F, To, From...>;
    if (n >= (has_own_code ? block : short_bytes / sizeof(To))) {
      instruction_set const set = instructions();
      if constexpr (F::widest >= instruction_set::avx512) {
        if (set >= instruction_set::avx512) {
          run_avx512(f, n, target, source...);
          return;
        }
      }
      if (set >= instruction_set::avx2) {
        run_avx2(f, n, target, source...);
        return;
      }
    }
  }
#endif
  do_all<instruction_set::baseline>(f, 0, n, target, source...);
}

}  // namespace tutti::detail::reduction

#if defined(__CUDACC__)
#pragma nv_diagnostic pop
#endif
