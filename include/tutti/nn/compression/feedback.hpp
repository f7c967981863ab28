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

/// A momentum that runs on each rank, before the choice of what is sent; the optimizer is then a `corrected_sgd`.
struct momentum_correction {
  float momentum = 0;     ///< 0: there is none
  bool nesterov = false;  ///< what is owed grows by Nesterov's steps, not by the velocity
  bool masking = false;   ///< the velocity of a number that is sent ends there (momentum factor masking)
};

/// As settings ask for it, so that it fits the optimizer that they make.
[[nodiscard]] inline momentum_correction correction_of(settings const& settings, bool masking = false) noexcept {
  return {settings.momentum_corrected ? settings.momentum : 0, settings.optimizer == optimizer_kind::nesterov, masking};
}

/// What a rank owes: gradients that it has not sent yet, kept and sent later (error feedback: Seide et al., "1-bit
/// stochastic gradient descent", Interspeech 2014; Stich et al., "Sparsified SGD with memory", NeurIPS 2018;
/// Karimireddy et al., "Error feedback fixes SignSGD", ICML 2019).
///
/// With a momentum the velocity is kept here, and what is owed are sums of velocities, so that a gradient that
/// is sent late counts as if it had been sent at once and then repeated (momentum correction). With masking the
/// velocity starts anew where a number is sent, so that no stale one is added to; but the more is sent, the less is
/// then left of the momentum, down to none. Both: Lin et al., "Deep gradient compression", ICLR 2018, section 3.
///
/// Law: where all is sent, unmasked, a training is the same as without, up to rounding.
///
/// Thread safety: none. Memory: as many numbers as there are gradients, with a momentum twice as many.
class feedback {
 public:
  /// Owes nothing yet.
  explicit feedback(momentum_correction corrected = {}) : corrected_(corrected) {}

  /// Adds the gradients of a step.
  /// @returns what is now owed; the sender of a part takes it off: what is left is owed at the next step
  std::span<float> add(std::span<float const> gradients) {
    owed_.resize(gradients.size());
    if (corrected_.momentum == 0) {
      detail::elementwise(owed_.size(),
                          [owed = owed_.data(), g = gradients.data()](std::size_t i) { owed[i] += g[i]; });
    } else {
      velocity_.resize(gradients.size());
      corrected_.nesterov ? add_steps<tutti::nn::nesterov>(gradients) : add_steps<heavy_ball>(gradients);
    }
    return owed_;
  }

  /// Number i is sent, exactly.
  void settle(std::size_t i) noexcept {
    owed_[i] = 0;
    if (corrected_.masking && corrected_.momentum != 0) {
      velocity_[i] = 0;
    }
  }

  /// Writes what is remembered between steps.
  void save(packer& to) const {
    detail::pack_if_any(to, owed_);
    detail::pack_if_any(to, velocity_);
  }
  /// Restores what `save` wrote; false if these are the bytes of something else.
  [[nodiscard]] bool load(unpacker& from, std::size_t gradients) {
    return detail::unpack_if_any(from, owed_, gradients) && detail::unpack_if_any(from, velocity_, gradients);
  }

  /// The momentum that runs here; 0: there is none.
  [[nodiscard]] float momentum() const noexcept { return corrected_.momentum; }
  /// What has not been sent yet, for each gradient.
  [[nodiscard]] std::span<float const> owed() const noexcept { return owed_; }

 private:
  template <class Momentum>
  void add_steps(std::span<float const> gradients) {
    detail::elementwise(owed_.size(), [owed = owed_.data(), v = velocity_.data(), g = gradients.data(),
                                       momentum = corrected_.momentum](std::size_t i) {
      v[i] = momentum * v[i] + g[i];
      owed[i] += Momentum::direction(g[i], v[i], momentum);
    });
  }

  momentum_correction corrected_;
  std::vector<float> owed_;
  std::vector<float> velocity_;
};

}  // namespace tutti::nn
