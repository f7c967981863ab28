// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/extend/strategy.hpp>

#include <span>

namespace tutti::inline v0_1_0::nn::detail {

/// What strategies share whose ranks all take part in every step and end it with the same weights and optimizers, and
/// remember nothing.
struct equal_replicas {
  [[nodiscard]] static constexpr bool equal() noexcept { return true; }
  [[nodiscard]] static constexpr bool takes_part() noexcept { return true; }
  static constexpr void unite(std::span<float>) noexcept {}
  static constexpr void resume(std::span<float>) noexcept {}
  [[nodiscard]] static constexpr rank_memory remembers() noexcept { return rank_memory::none; }
  static constexpr void save(packer&) noexcept {}
  [[nodiscard]] static constexpr bool load(unpacker&, std::size_t) noexcept { return true; }
};

/// And of those, the ones whose `finish` makes the message the sum over ranks: all weights follow it.
template <class Strategy>
struct steps_by_sums : equal_replicas {
  /// @throws as `finish`
  score_of step(training_step auto& step) {
    static_cast<Strategy&>(*this).finish();
    step.update();
    return score_of::all_ranks;
  }
};

}  // namespace tutti::nn::detail
