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
/// To add an optimizer:
///   1. derive a class, such as `sgd` (optimizer/sgd.hpp). It keeps its state in one vector, made by the constructor
///      and returned by `state`: none, one or several numbers for each parameter, and perhaps a few for all. All else
///      that `step` uses follows from the settings. Parameter servers divide the state as they divide the weights, and
///      make an optimizer for each part, so they refuse optimizers with more than one number for each parameter;
///   2. add its name to `optimizer_kind` (base/settings.hpp), and a case to `make_optimizer`;
///   3. replicas on devices run it on the host, unless a kernel is added (cuda/detail/device/learner_state.hpp).
/// Nothing else is needed for checkpoints: they save the numbers of `state`, and write them back to a new optimizer.
template <class T>
class optimizer {
 public:
  /// The type of the numbers.
  using value_type = T;

  virtual ~optimizer() = default;

  /// Makes one step with this learning rate: updates the weights and the state.
  virtual void step(std::span<T> weights, std::span<T const> gradients, T rate) = 0;
  /// The values remembered between steps: zeros at first, always as many, and part of a saved training, which writes to
  /// them before the first step.
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
