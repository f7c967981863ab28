// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/trainable.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn::detail {

/// A step of a replica, made by a strategy. Knows how long the updates took.
template <trainable Replica>
class replica_step {
 public:
  /// @param samples how many images this rank's gradients are of
  replica_step(Replica& model, std::size_t batch, std::size_t samples, float rate) noexcept
      : model_(model), batch_(batch), samples_(samples), rate_(rate) {}

  [[nodiscard]] std::span<float> parameters() noexcept { return model_.parameters(); }
  [[nodiscard]] std::span<float> message() noexcept { return model_.message(); }
  [[nodiscard]] std::size_t samples() const noexcept { return samples_; }
  [[nodiscard]] float learning_rate() const noexcept { return rate_; }

  void update() {
    time_point const before = steady_now();
    model_.update(rate_);
    spent_ += steady_now() - before;
  }
  void update_alone() {
    if (samples_ != 0) {
      time_point const before = steady_now();
      model_.keep_own(batch_);
      model_.update(rate_);
      spent_ += steady_now() - before;
    }
  }

  [[nodiscard]] duration spent() const noexcept { return spent_; }

 private:
  Replica& model_;
  std::size_t batch_;
  std::size_t samples_;
  float rate_;
  duration spent_{};
};

}  // namespace tutti::nn::detail
