// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/detail/numbers/loops.hpp>
#include <tutti/nn/detail/numbers/packing.hpp>
#include <tutti/nn/optimizer/sgd.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A momentum on each rank, applied before gradients are selected for sending. The optimizer must be a
/// `corrected_sgd`.
struct momentum_correction {
  float momentum = 0;     ///< share of the velocity that is kept; 0: no momentum
  bool nesterov = false;  ///< true: Nesterov steps are added to the feedback, not the velocity
  bool masking = false;   ///< true: sending an element resets its velocity (momentum factor masking)
};

/// The momentum correction of the settings, which fits their optimizer.
[[nodiscard]] inline momentum_correction correction_of(settings const& settings, bool masking = false) noexcept {
  return {settings.momentum_corrected ? settings.momentum : 0, settings.optimizer == optimizer_kind::nesterov, masking};
}

/// Error feedback: the gradients that a rank has not sent yet, kept and sent later (Seide et al., "1-bit stochastic
/// gradient descent", Interspeech 2014; Stich et al., "Sparsified SGD with memory", NeurIPS 2018; Karimireddy et al.,
/// "Error feedback fixes SignSGD", ICML 2019).
///
/// With a momentum the velocity is kept here, too, and the feedback consists of sums of velocities, so that a
/// gradient sent late counts as if it had been sent immediately and then repeated (momentum correction). Masking
/// resets the velocity of each element that is sent, so that no stale velocity is added; but the more is sent, the
/// less momentum remains, down to none. Both: Lin et al., "Deep gradient compression", ICLR 2018, section 3.
///
/// Law: if everything is sent, without masking, a training equals one without feedback, up to rounding.
///
/// Thread safety: none. Memory: one number for each gradient, two with a momentum.
class feedback {
 public:
  /// Constructs empty feedback.
  explicit feedback(momentum_correction correction = {}) : correction_(correction) {}

  /// Adds the gradients of a step.
  /// @returns the feedback with them; the caller subtracts the part that it sends, and the rest remains for the next
  /// step
  std::span<float> add(std::span<float const> gradients) {
    residual_.resize(gradients.size());
    if (correction_.momentum == 0) {
      detail::elementwise(residual_.size(),
                          [residual = residual_.data(), g = gradients.data()](std::size_t i) { residual[i] += g[i]; });
    } else {
      velocity_.resize(gradients.size());
      correction_.nesterov ? add_steps<tutti::nn::nesterov>(gradients) : add_steps<heavy_ball>(gradients);
    }
    return residual_;
  }

  /// Marks element i as sent exactly.
  void settle(std::size_t i) noexcept {
    residual_[i] = 0;
    if (correction_.masking && correction_.momentum != 0) {
      velocity_[i] = 0;
    }
  }

  /// Writes the state between steps.
  void save(packer& output) const {
    detail::pack_if_any(output, residual_);
    detail::pack_if_any(output, velocity_);
  }
  /// Restores the state that `save` wrote; false if the bytes are not such a state.
  [[nodiscard]] bool load(unpacker& input, std::size_t gradients) {
    return detail::unpack_if_any(input, residual_, gradients) && detail::unpack_if_any(input, velocity_, gradients);
  }

  /// The momentum that is applied here; 0 without.
  [[nodiscard]] float momentum() const noexcept { return correction_.momentum; }
  /// The unsent part of each gradient.
  [[nodiscard]] std::span<float const> residual() const noexcept { return residual_; }

 private:
  template <class Momentum>
  void add_steps(std::span<float const> gradients) {
    detail::elementwise(residual_.size(), [residual = residual_.data(), v = velocity_.data(), g = gradients.data(),
                                           momentum = correction_.momentum](std::size_t i) {
      v[i] = momentum * v[i] + g[i];
      residual[i] += Momentum::direction(g[i], v[i], momentum);
    });
  }

  momentum_correction correction_;
  std::vector<float> residual_;
  std::vector<float> velocity_;
};

}  // namespace tutti::nn
