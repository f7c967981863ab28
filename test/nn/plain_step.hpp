// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/random.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace support {

/// Random numbers between -1/2 and 1/2.
inline std::vector<float> random_numbers(std::size_t count, std::uint64_t seed, std::uint64_t stream) {
  tutti::nn::random_sequence random(seed, stream);
  std::vector<float> result(count);
  for (float& one : result) {
    one = random.fraction<float>() - 0.5F;
  }
  return result;
}

/// A step of plain gradient descent on given gradients, for strategies without a model. Keeps its own gradient,
/// which is the mean over its images, as a test gave it.
struct plain_step {
  std::vector<float>& weights;
  std::vector<float> gradient;  ///< and two numbers behind it: loss, accuracy
  std::size_t images = 1;
  float rate = 1;

  [[nodiscard]] std::span<float> parameters() const { return weights; }
  [[nodiscard]] std::span<float> message() { return gradient; }
  [[nodiscard]] std::size_t samples() const { return images; }
  [[nodiscard]] float learning_rate() const { return rate; }
  void update() {
    for (std::size_t i = 0; i != weights.size(); ++i) {
      weights[i] -= rate * gradient[i];
    }
  }
  void update_alone() {
    if (images != 0) {
      update();
    }
  }
};

static_assert(tutti::nn::training_step<plain_step>);

}  // namespace support
