// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/strategy/equal_replicas.hpp>
#include <tutti/nn/extend/strategy.hpp>

namespace tutti::inline v0_1_0::nn {

/// One rank alone: training without a world.
struct alone : detail::equal_replicas {
  [[nodiscard]] static constexpr rank_type rank() noexcept { return 0; }
  [[nodiscard]] static constexpr rank_type size() noexcept { return 1; }
  static constexpr void share(std::span<float>) noexcept {}
  static constexpr void sum(std::span<float>) noexcept {}
  static constexpr void begin(std::span<float>) noexcept {}
  static constexpr void completed(std::size_t) noexcept {}
  static constexpr score_of step(training_step auto& step) {
    step.update();
    return score_of::all_ranks;
  }
};

static_assert(strategy<alone>);

}  // namespace tutti::nn
