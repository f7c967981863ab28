// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/nn/base/random.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::nn {

/// The speed of a rank that computes, where it is to differ from its machine's.
struct simulated_speed {
  double factor = 1;  ///< times as long, asleep for the rest: as on a slower machine; at least 1
  /// Seconds per image of a gradient that is simulated instead of computed: it is zeros, and there is no test. 0: all
  /// is computed.
  double seconds_per_image = 0;
  /// Each gradient takes up to so many times as long besides, a factor that is drawn for each: as where other programs
  /// run; at least 1.
  double most_at_random = 1;

  /// The factor of a rank's gradient in a step: the same for the same seed.
  [[nodiscard]] constexpr double factor_at(std::uint64_t seed, rank_type rank, std::size_t step) const noexcept {
    constexpr std::uint64_t own_streams = std::uint64_t{1} << 63;  // no others are drawn from these
    random_sequence drawn(seed, own_streams | std::uint64_t{rank} << 40 | step);
    return factor * (1 + (most_at_random - 1) * drawn.fraction<double>());
  }

  /// True if gradients are computed.
  [[nodiscard]] constexpr bool computes() const noexcept { return seconds_per_image == 0; }
  /// True if this is the machine's own speed.
  [[nodiscard]] constexpr bool is_real() const noexcept { return computes() && factor == 1 && most_at_random == 1; }
};

}  // namespace tutti::nn
