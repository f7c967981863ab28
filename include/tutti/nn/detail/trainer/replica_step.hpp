// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/replica.hpp>

#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn::detail::inline trainer {

/// A step of a replica, made by a strategy.
class replica_step final : public training_step {
 public:
  /// @param samples the number of images of this rank's gradients
  replica_step(replica& model, std::size_t batch, std::size_t samples, float rate) noexcept
      : model_(model), batch_(batch), samples_(samples), rate_(rate) {}

  [[nodiscard]] std::span<float> parameters() override { return model_.parameters(); }
  [[nodiscard]] std::span<float> message() override { return model_.message(); }
  [[nodiscard]] std::size_t samples() const noexcept override { return samples_; }
  [[nodiscard]] float learning_rate() const noexcept override { return rate_; }
  void update() override { model_.update(rate_); }
  void update_alone() override {
    if (samples_ != 0) {
      model_.keep_own(batch_);
      model_.update(rate_);
    }
  }

 private:
  replica& model_;
  std::size_t batch_;
  std::size_t samples_;
  float rate_;
};

}  // namespace tutti::nn::detail::trainer
