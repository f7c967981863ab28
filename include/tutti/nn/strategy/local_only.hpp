// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/nn/extend/strategy.hpp>

#include <span>

namespace tutti::inline v0_1_0::nn {

/// Training on one rank, without a world.
class local_only : public strategy {
 public:
  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return 0; }
  [[nodiscard]] rank_type size() const noexcept override { return 1; }
  void broadcast(std::span<float> /*numbers*/) noexcept override {}
  void sum(std::span<float> /*numbers*/) noexcept override {}
  metrics_scope step(training_step& step) override {
    step.update();
    return metrics_scope::all_ranks;
  }
};

}  // namespace tutti::nn
