// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/instructions.hpp>
#include <tutti/detail/reduction/traits.hpp>
#include <tutti/extend/reduction.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::detail::inline reduction {

/// The traits of a reduction for kernel.hpp. By default it folds element by element, in the widest instructions that
/// pay and keep the bits. A reduction with a faster loop specialises this struct in its header, with
///
///     fold<Set, N, ArrivingOnLeft, Finishes>(reduction, target, local, arriving, ranks)
///     finish<Set, N>(reduction, target, source, ranks)
///
/// Both handle N elements, and read all of them before they write.
template <tutti::reduction R>
struct block_fold {
  static constexpr instruction_set widest = fuses<R> ? instruction_set::avx2 : instruction_set::avx512;
  static constexpr std::size_t elements = 0;  ///< the number of elements in a block; 0: those of a cache line
};

/// A reduction with the bits of R, compiled for the program's own instruction set alone: half of the code or less.
template <tutti::reduction R>
struct baseline_only : R {};
template <tutti::reduction R>
struct block_fold<baseline_only<R>> {
  static constexpr instruction_set widest = instruction_set::baseline;
  static constexpr std::size_t elements = block_fold<R>::elements;
};

}  // namespace tutti::detail::reduction
