// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/instructions.hpp>
#include <tutti/detail/reduction/traits.hpp>
#include <tutti/extend/reduction.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::detail::inline reduction {

/// How blocks of elements are folded by a reduction: pair by pair, in the widest instructions that are worth it and
/// keep the bits (kernel.hpp). One that has a faster way specialises this where it is defined, with
///
///     fold<Set, N, ArrivingOnLeft, Finishes>(reduction, to, local, arriving, ranks)
///     finish<Set, N>(reduction, to, from, ranks)
///
/// which do N elements, and read all of them before they write.
template <tutti::reduction R>
struct block_fold {
  static constexpr instruction_set widest = fuses<R> ? instruction_set::avx2 : instruction_set::avx512;
  static constexpr std::size_t elements = 0;  ///< of a block; 0: those of a cache line
};

}  // namespace tutti::detail::reduction
