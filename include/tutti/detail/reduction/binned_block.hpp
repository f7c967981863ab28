// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/number.hpp>
#include <tutti/extend/binned_sum.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

/// Folds blocks of accumulators. Each step is a loop over plain arrays of words (compilers.md: Loops of one step).
namespace tutti::inline v0_1_0::detail::inline reduction {

/// A block of accumulators as two arrays, which fit into the L1 cache.
template <std::size_t N>
struct binned_words {
  alignas(64) std::uint64_t low[N];
  alignas(64) std::uint64_t high[N];

  [[nodiscard]] constexpr binned_sum operator[](std::size_t i) const noexcept { return {low[i], high[i]}; }
  constexpr void store(std::size_t i, binned_sum const& a) noexcept {
    low[i] = a.low;
    high[i] = a.high;
  }
};

template <std::size_t N, class R, class T>
[[gnu::always_inline]] inline void load_block(R const& r, T const* source, binned_words<N>& target) {
  for (std::size_t i = 0; i < N; ++i) {
    if constexpr (std::same_as<T, binned_sum>) {
      target.store(i, source[i]);
    } else {
      target.store(i, r.lift(source[i]));
    }
  }
}

template <std::size_t N, class R, class T>
[[gnu::always_inline]] inline void store_block(R const& r, binned_words<N> const& source, T* target) {
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < N; ++i) {
    if constexpr (std::same_as<T, binned_sum>) {
      target[i] = source[i];
    } else {
      target[i] = r.lower(source[i], 0);
    }
  }
}

/// Adds accumulators to others, in place. If each pair has equal tiers, which is usual for gradients, only words are
/// added.
template <std::size_t N>
[[gnu::always_inline]] inline void add_block(binned_words<N>& sums, binned_words<N> const& more) {
  std::uint64_t unlike = 0;
  for (std::size_t i = 0; i < N; ++i) {
    unlike |= sums.high[i] ^ more.high[i];
  }
  if ((unlike & tier_mask) == 0) {
    for (std::size_t i = 0; i < N; ++i) {
      std::uint64_t const sum = sums.low[i] + more.low[i];
      sums.low[i] = sum & low_mask;
      sums.high[i] += (more.high[i] & ~tier_mask) + (sum >> 63 << 7);
    }
  } else {
    for (std::size_t i = 0; i < N; ++i) {
      sums.store(i, combine(sums[i], more[i]));
    }
  }
}

template <std::size_t N, class R, class To, class Local, class Arriving>
[[gnu::always_inline]] inline void fold_block(R const& r, To* target, Local const* local, Arriving const* arriving) {
  if constexpr (std::same_as<To, float> && std::same_as<Local, float> && std::same_as<Arriving, float>) {
    // The sum of two floats, rounded once, is the processor's addition: the bits that accumulators drop are too small
    // to change it. (For double they are not.)
    for (std::size_t i = 0; i < N; ++i) {
      target[i] = canonical(local[i] + arriving[i]);
    }
  } else {
    binned_words<N> sums;
    binned_words<N> more;
    load_block(r, local, sums);
    load_block(r, arriving, more);
    add_block(sums, more);
    store_block(r, sums, target);
  }
}

template <std::size_t N, class R, class To, class From>
[[gnu::always_inline]] inline void finish_block(R const& r, To* target, From const* source) {
  binned_words<N> sums;
  load_block(r, source, sums);
  store_block(r, sums, target);
}

}  // namespace tutti::detail::reduction
