// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

namespace tutti::inline v0_1_0 {

/// The extent of a world whose size is known only at run time.
inline constexpr rank_type dynamic = 0;

/// The size of a world: a constant that costs no storage, or a number.
template <rank_type N = dynamic>
class extent {
 public:
  constexpr extent() noexcept = default;
  /// Ignores the number, which the type fixes.
  constexpr explicit extent(rank_type) noexcept {}
  /// The number of ranks.
  [[nodiscard]] constexpr operator rank_type() const noexcept { return N; }
};

/// A number of ranks that is known only when the program runs.
template <>
class extent<dynamic> {
 public:
  /// Holds `n` ranks.
  constexpr explicit extent(rank_type n) noexcept : n_(n) {}
  /// The number of ranks.
  [[nodiscard]] constexpr operator rank_type() const noexcept { return n_; }

 private:
  rank_type n_;
};

}  // namespace tutti
