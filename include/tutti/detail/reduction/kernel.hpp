// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/instructions.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// Loops over spans: to[i] = f(from[i]...), for a function f that nothing is known of. `to` may be one
/// of the operands, else it overlaps none: so no element depends on another, and a pragma says that,
/// because g++ -O2 vectorises no loop for which it would have to check it. Nor one that would need an
/// epilogue: hence blocks of a constant number of elements.
///
/// On x86-64 the same loop is compiled for three instruction sets; f is inlined into each, and compiled with
/// it. The processor says at run time which one runs. test/reduction/vectorised looks at the instructions.
///
/// Whatever runs, the bits are the same. The one thing in the way of that is the fused multiply-add, which
/// rounds once instead of twice and which compilers use wherever they may: AVX2 is therefore used without
/// it. AVX-512 cannot be had without, so only functions that say so (`F::widest`) are compiled for it.
/// A program's own flags may allow it everywhere (-mfma, -mavx512f, -march=native): `product` is not fused even then.
#if defined(__CUDACC__)  // it passes pragmas of g++ on, and warns that it does not know them
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace tutti::inline v0_1_0::detail::inline reduction {

template <class... T>
[[nodiscard]] consteval std::size_t largest() {
  std::size_t most = 0;
  ((most = sizeof(T) > most ? sizeof(T) : most), ...);
  return most;
}

/// Elements per block: what the function says, or a cache line.
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

/// Whether loops run in blocks. clang vectorises loops of any length, and loops of blocks worse.
#if defined(__clang__)
inline constexpr bool by_blocks = false;
#else
inline constexpr bool by_blocks = true;
#endif

/// One block of `n` elements, a number or a constant.
template <class Count, class F, class To, class... From>
[[gnu::always_inline]] inline void do_block(Count n, F const& f, To* to, From const*... from) {
  std::size_t const count = n;
#if !defined(__clang__)
  // A block whose loop -O3 unrolls before it looks for vectors ends as scalar code, at half the speed.
#pragma GCC unroll 1
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = f(from[i]...);
  }
}

/// The same, where `to` may be an operand. clang asks at run time whether pointers overlap, unless they are one.
template <class Count, class F, class To, class Local, class... Rest>
[[gnu::always_inline]] inline void do_loop(Count n, F const& f, To* to, Local const* local, Rest const*... rest) {
  if constexpr (!by_blocks && std::is_same_v<To, Local>) {
    if (to == local) {
      do_block(n, f, to, to, rest...);
      return;
    }
  }
  if constexpr (!by_blocks && (std::is_same_v<To, Rest> && ... && (sizeof...(Rest) == 1))) {
    bool const is_rest = (... && (to == rest));
    if (is_rest) {
      do_block(n, f, to, local, to);
      return;
    }
  }
  do_block(n, f, to, local, rest...);
}

/// A function may do a block its own way: `f.block<Set, N>(to, from...)`, which reads all before it writes.
template <instruction_set Set, std::size_t N, class F, class To, class... From>
concept does_blocks = requires(F const& f, To* to, From const*... from) { f.template block<Set, N>(to, from...); };

/// All but the first `done` elements.
template <instruction_set Set, class F, class To, class... From>
[[gnu::always_inline]] inline void do_all(F const& f, std::size_t done, std::size_t n, To* to, From const*... from) {
  constexpr std::size_t block = block_elements<F, To, From...>;
  if constexpr (does_blocks<Set, block, F, To, From...>) {
    for (; done + block <= n; done += block) {
      f.template block<Set, block>(to + done, (from + done)...);
    }
  } else if constexpr (by_blocks) {
    for (; done + block <= n; done += block) {
      do_block(constant<block>{}, f, to + done, (from + done)...);
    }
  }
  do_loop(n - done, f, to + done, (from + done)...);
}

#if defined(__x86_64__)

/// Results of this many bytes do not stay in the caches, so they need not go through them: a line that is
/// written whole by streaming stores is not read first. See bench/results/fold.md.
inline constexpr std::size_t streamed_bytes = std::size_t{8} << 20;

/// Writes a line past the caches. @pre `to` is aligned to 64 bytes.
[[gnu::target("avx2"), gnu::always_inline]] inline void stream_line(void const* line, void* to) noexcept {
  // By sixteen bytes: what was just written by as many or more can be read back without waiting.
  using vector [[gnu::vector_size(16), gnu::may_alias]] = float;
  auto const* const from = static_cast<vector const*>(line);
  auto* const out = static_cast<vector*>(to);
  for (int i = 0; i < 4; ++i) {
    asm volatile("vmovntps %1, %0" : "=m"(out[i]) : "x"(from[i]));
  }
}

/// The loop, out of place, for results that are not worth a place in the caches. Returns how many elements it has done:
/// all but those of the last line.
/// @pre n elements reach beyond the first line that begins in `to`.
template <instruction_set Set, class F, class To, class... From>
[[gnu::target("avx2"), gnu::always_inline]] inline std::size_t do_streamed(F const& f, std::size_t n, To* to,
                                                                           From const*... from) {
  constexpr std::size_t line = 64 / sizeof(To);
  constexpr std::size_t block = line > block_elements<F, To, From...> ? line : block_elements<F, To, From...>;
  std::size_t done = (0 - reinterpret_cast<std::uintptr_t>(to)) % 64 / sizeof(To);
  do_block(done, f, to, from...);
  for (; done + block <= n; done += block) {
    alignas(64) std::byte lines[block * sizeof(To)];
    asm("" : "=m"(lines));  // or g++ -O3 warns of what it does not see being written, member by member
    auto* const results = reinterpret_cast<To*>(lines);
    if constexpr (does_blocks<Set, block, F, To, From...>) {
      f.template block<Set, block>(results, (from + done)...);
    } else {
      do_block(constant<block>{}, f, results, (from + done)...);
    }
    for (std::size_t i = 0; i < block; i += line) {
      stream_line(results + i, to + done + i);
    }
  }
  asm volatile("sfence" ::: "memory");  // a thread that is told of the results sees them
  return done;
}

template <instruction_set Set, class F, class To, class... From>
[[gnu::target("avx2"), gnu::always_inline]] inline void do_wide(F const& f, std::size_t n, To* to,
                                                                From const*... from) {
  std::size_t done = 0;
  if constexpr (64 % sizeof(To) == 0) {
    bool const in_place = ((static_cast<void const*>(from) == to) || ...);  // its lines are read anyway
    if (n * sizeof(To) >= streamed_bytes && !in_place && reinterpret_cast<std::uintptr_t>(to) % sizeof(To) == 0) {
      done = do_streamed<Set>(f, n, to, from...);
    }
  }
  do_all<Set>(f, done, n, to, from...);
}

template <class F, class To, class... From>
[[gnu::target("avx2,f16c"), gnu::flatten, gnu::noinline]] void run_avx2(F const f, std::size_t n, To* to,
                                                                        From const*... from) {
  do_wide<instruction_set::avx2>(f, n, to, from...);
}

template <class F, class To, class... From>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl"), gnu::flatten, gnu::noinline]] void run_avx512(
    F const f, std::size_t n, To* to, From const*... from) {
  do_wide<instruction_set::avx512>(f, n, to, from...);
}

#endif

/// Results of fewer bytes are not worth asking what the processor has; of functions that do blocks their own way, one
/// block is.
inline constexpr std::size_t short_bytes = 256;

/// to[i] = f(from[i]...) for n elements.
template <class F, class To, class... From>
void run(F const f, std::size_t n, To* to, From const*... from) {
#if defined(__x86_64__)
  constexpr std::size_t block = block_elements<F, To, From...>;
  constexpr bool own_way = does_blocks<instruction_set::avx2, block, F, To, From...>;
  if (n >= (own_way ? block : short_bytes / sizeof(To))) {
    instruction_set const set = instructions();
    if constexpr (F::widest >= instruction_set::avx512) {
      if (set >= instruction_set::avx512) {
        run_avx512(f, n, to, from...);
        return;
      }
    }
    if (set >= instruction_set::avx2) {
      run_avx2(f, n, to, from...);
      return;
    }
  }
#endif
  do_all<instruction_set::baseline>(f, 0, n, to, from...);
}

}  // namespace tutti::detail::reduction

#if defined(__CUDACC__)
#pragma nv_diagnostic pop
#endif
