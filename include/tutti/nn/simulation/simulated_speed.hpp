// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/nn/base/random.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::nn {

/// The simulated speed of a rank, if it is to differ from its machine's.
struct simulated_speed {
  /// Multiple of the real time, 1 or more; the rank sleeps for the rest, as if on a slower machine.
  double factor = 1;
  /// Seconds per image of a gradient that is simulated instead of computed: it is zero, and the test is skipped. With
  /// 0, everything is computed.
  double seconds_per_image = 0;
  /// The largest additional random factor of a gradient, drawn for each one, 1 or more: as if other programs ran on
  /// the machine.
  double max_random_factor = 1;

  /// The factor of a rank's gradient in a step, a function of the seed.
  [[nodiscard]] constexpr double factor_at(std::uint64_t seed, rank_type rank, std::size_t step) const noexcept {
    constexpr std::uint64_t own_streams = std::uint64_t{1} << 63;  // streams that nothing else draws from
    random_sequence sequence(seed, own_streams | std::uint64_t{rank} << 40 | step);
    return factor * (1 + (max_random_factor - 1) * sequence.fraction<double>());
  }

  /// True if gradients are computed.
  [[nodiscard]] constexpr bool computes() const noexcept { return seconds_per_image == 0; }
  /// True if this is the machine's own speed.
  [[nodiscard]] constexpr bool is_real() const noexcept { return computes() && factor == 1 && max_random_factor == 1; }
};

}  // namespace tutti::nn
