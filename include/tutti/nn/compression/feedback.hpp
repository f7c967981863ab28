// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/strategy/memory.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::nn {

/// What a rank owes: gradients that it has not sent yet, kept and sent later (error feedback: Seide et al., "1-bit
/// stochastic gradient descent", Interspeech 2014; Stich et al., "Sparsified SGD with memory", NeurIPS 2018;
/// Karimireddy et al., "Error feedback fixes SignSGD", ICML 2019).
///
/// With a momentum the velocity is kept here, and what is owed are sums of velocities, so that a gradient that
/// is sent late counts as if it had been sent at once and then repeated (momentum correction); where a number is sent
/// the velocity starts anew, so that no stale one is added to (momentum factor masking). The optimizer must then have
/// no momentum of its own. Both: Lin et al., "Deep gradient compression", ICLR 2018, section 3.
///
/// Thread safety: none. Memory: as many numbers as there are gradients, with a momentum twice as many.
class feedback {
 public:
  explicit feedback(float momentum = 0) : momentum_(momentum) {}

  /// Adds the gradients of a step.
  /// @returns what is now owed; whoever sends a part of it takes it off: what is left is owed at the next step
  std::span<float> add(std::span<float const> gradients) {
    owed_.resize(gradients.size());
    if (momentum_ == 0) {
      for (std::size_t i = 0; i != gradients.size(); ++i) {
        owed_[i] += gradients[i];
      }
    } else {
      velocity_.resize(gradients.size());
      for (std::size_t i = 0; i != gradients.size(); ++i) {
        velocity_[i] = momentum_ * velocity_[i] + gradients[i];
        owed_[i] += velocity_[i];
      }
    }
    return owed_;
  }

  /// Number i is sent, exactly.
  void settle(std::size_t i) noexcept {
    owed_[i] = 0;
    if (momentum_ != 0) {
      velocity_[i] = 0;
    }
  }

  void save(packer& to) const {
    pack_if_any(to, owed_);
    pack_if_any(to, velocity_);
  }
  [[nodiscard]] bool load(unpacker& from, std::size_t gradients) {
    return unpack_if_any(from, owed_, gradients) && unpack_if_any(from, velocity_, gradients);
  }

  [[nodiscard]] std::span<float const> owed() const noexcept { return owed_; }

 private:
  float momentum_;
  std::vector<float> owed_;
  std::vector<float> velocity_;
};

}  // namespace tutti::nn
