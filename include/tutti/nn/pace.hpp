// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/nn/random.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::nn {

/// How long a rank takes for what it computes, where that is not what its machine takes.
struct pace {
  double factor = 1;  ///< times as long, asleep for the rest: as on a slower machine; at least 1
  /// Of the gradient of an image, which is then not computed but zeros; there is no test. 0: all is computed.
  double pretended_seconds = 0;
  /// Each gradient takes up to so many times as long besides, a factor that is drawn anew: as where other programs run;
  /// at least 1.
  double most_at_random = 1;

  /// How many times as long a rank takes for its gradient of a step: the same for the same seed.
  [[nodiscard]] constexpr double factor_at(std::uint64_t seed, rank_type rank, std::size_t step) const noexcept {
    constexpr std::uint64_t own_streams = std::uint64_t{1} << 63;  // no others are drawn from these
    random_sequence drawn(seed, own_streams | std::uint64_t{rank} << 40 | step);
    return factor * (1 + (most_at_random - 1) * drawn.fraction<double>());
  }

  /// Whether gradients are not computed.
  [[nodiscard]] constexpr bool pretends() const noexcept { return pretended_seconds > 0; }
};

}  // namespace tutti::nn
