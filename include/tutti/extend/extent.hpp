// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

namespace tutti::inline v0_1_0 {

/// The size of a world that is known only when it is joined.
inline constexpr rank_type dynamic = 0;

/// The size of a world: a constant that costs no storage, or a number.
template <rank_type N = dynamic>
class extent {
 public:
  constexpr extent() noexcept = default;
  /// Takes the number that its type says.
  constexpr explicit extent(rank_type) noexcept {}
  /// The number of ranks.
  [[nodiscard]] constexpr operator rank_type() const noexcept { return N; }
};

/// A number of ranks that is known only when the program runs.
template <>
class extent<dynamic> {
 public:
  /// So many ranks.
  constexpr explicit extent(rank_type n) noexcept : n_(n) {}
  /// The number of ranks.
  [[nodiscard]] constexpr operator rank_type() const noexcept { return n_; }

 private:
  rank_type n_;
};

}  // namespace tutti
