// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/number.hpp>
#include <tutti/extend/binned.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

/// Folds of accumulators by blocks. g++ vectorises loops over plain arrays of words, one step of the way each, and
/// neither loops that do all steps at once nor those over structures that hold several words.
namespace tutti::inline v0_1_0::detail::inline reduction {

/// Accumulators as two arrays, in the first cache.
template <std::size_t N>
struct binned_words {
  alignas(64) std::uint64_t low[N];
  alignas(64) std::uint64_t high[N];

  [[nodiscard]] constexpr binned operator[](std::size_t i) const noexcept { return {low[i], high[i]}; }
  constexpr void put(std::size_t i, binned const& a) noexcept {
    low[i] = a.low;
    high[i] = a.high;
  }
};

template <std::size_t N, class R, class T>
[[gnu::always_inline]] inline void load_block(R const& r, T const* from, binned_words<N>& to) {
  for (std::size_t i = 0; i < N; ++i) {
    if constexpr (std::same_as<T, binned>) {
      to.put(i, from[i]);
    } else {
      to.put(i, r.lift(from[i]));
    }
  }
}

template <std::size_t N, class R, class T>
[[gnu::always_inline]] inline void store_block(R const& r, binned_words<N> const& from, T* to) {
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < N; ++i) {
    if constexpr (std::same_as<T, binned>) {
      to[i] = from[i];
    } else {
      to[i] = r.lower(from[i], 0);
    }
  }
}

/// Adds accumulators to others, in place. Most have one tier with what is added to them, in blocks of gradients nearly
/// always: then their words are added, and no more.
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
      sums.put(i, combine(sums[i], more[i]));
    }
  }
}

template <std::size_t N, class R, class To, class Local, class Arriving>
[[gnu::always_inline]] inline void fold_block(R const& r, To* to, Local const* local, Arriving const* arriving) {
  if constexpr (std::same_as<To, float> && std::same_as<Local, float> && std::same_as<Arriving, float>) {
    // The sum of just two floats, rounded once, is what the processor's addition gives: the bits that accumulators
    // drop lie too far below the larger one to matter. (Not so for double.)
    for (std::size_t i = 0; i < N; ++i) {
      to[i] = canonical(local[i] + arriving[i]);
    }
  } else {
    binned_words<N> sums;
    binned_words<N> more;
    load_block(r, local, sums);
    load_block(r, arriving, more);
    add_block(sums, more);
    store_block(r, sums, to);
  }
}

template <std::size_t N, class R, class To, class From>
[[gnu::always_inline]] inline void finish_block(R const& r, To* to, From const* from) {
  binned_words<N> sums;
  load_block(r, from, sums);
  store_block(r, sums, to);
}

}  // namespace tutti::detail::reduction
