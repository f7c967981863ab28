// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/random.hpp>
#include <tutti/nn/extend/strategy.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace support {

/// Random numbers between -1/2 and 1/2.
inline std::vector<float> random_numbers(std::size_t count, std::uint64_t seed, std::uint64_t stream) {
  tutti::nn::random_sequence random(seed, stream);
  std::vector<float> result(count);
  for (float& number : result) {
    number = random.fraction<float>() - 0.5F;
  }
  return result;
}

/// A step of plain gradient descent on given gradients, for strategies without a model. `update_local` takes the given
/// gradient as it is: a mean over the rank's images.
class plain_step : public tutti::nn::training_step {
 public:
  /// @param gradient followed by two numbers: loss, accuracy
  plain_step(std::vector<float>& weights, std::vector<float> gradient, std::size_t images = 1, float rate = 1)
      : weights_(weights), gradient_(std::move(gradient)), images_(images), rate_(rate) {}

  [[nodiscard]] std::span<float> parameters() override { return weights_; }
  [[nodiscard]] std::span<float> gradient_buffer() override { return gradient_; }
  [[nodiscard]] std::size_t samples() const override { return images_; }
  [[nodiscard]] float learning_rate() const override { return rate_; }
  void update() override {
    for (std::size_t i = 0; i != weights_.size(); ++i) {
      weights_[i] -= rate_ * gradient_[i];
    }
  }
  void update_local() override {
    if (images_ != 0) {
      update();
    }
  }

 private:
  std::vector<float>& weights_;
  std::vector<float> gradient_;
  std::size_t images_;
  float rate_;
};

}  // namespace support
