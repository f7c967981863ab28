// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <span>

namespace tutti::inline v0_1_0::nn {

/// Updates weights from their gradients, which are those of the mean loss over the whole batch.
///
/// Law: the result is a function of its state, the weights, the gradients and the rate, in bits: replicas that start
/// alike stay alike, and a replica that receives another one's weights and state continues as that one would.
/// Allocates nothing.
///
/// To add an optimizer, derive a class, add its name to `optimizer_kind` (base/settings.hpp) and a case to
/// `make_optimizer`. Replicas on devices have code of their own (cuda/detail/device/learner_state.hpp).
template <class T>
class optimizer {
 public:
  /// The type of the numbers.
  using value_type = T;

  virtual ~optimizer() = default;

  /// Makes one step with this learning rate: updates the weights and the state.
  virtual void step(std::span<T> weights, std::span<T const> gradients, T rate) = 0;
  /// The values remembered between steps: zeros at first, and part of a saved training.
  [[nodiscard]] virtual std::span<T> state() noexcept = 0;

 protected:
  optimizer() = default;
  /// Copies as a part of a derived class.
  optimizer(optimizer const&) = default;
  /// Moves as a part of a derived class.
  optimizer(optimizer&&) noexcept = default;
  /// Copies as a part of a derived class.
  optimizer& operator=(optimizer const&) = default;
  /// Moves as a part of a derived class.
  optimizer& operator=(optimizer&&) noexcept = default;
};

}  // namespace tutti::nn
