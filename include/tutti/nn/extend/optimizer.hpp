// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <span>

namespace tutti::inline v0_1_0::nn {

/// Lets weights follow their gradients, which are those of the mean loss over the whole batch.
///
/// Law: what it does is a function of its state, the weights, the gradients and the rate, in bits: replicas that start
/// alike stay alike, and one that got another's weights and state goes on as that one would. It allocates nothing.
template <class T>
class optimizer {
 public:
  /// The type of number that is computed in.
  using value_type = T;

  virtual ~optimizer() = default;

  /// Moves the weights, and what is remembered, at a learning rate.
  virtual void step(std::span<T> weights, std::span<T const> gradients, T rate) = 0;
  /// The numbers remembered between steps: zeros at first, and part of a saved training.
  [[nodiscard]] virtual std::span<T> state() noexcept = 0;

 protected:
  optimizer() = default;
  /// Copies as a part of a derived class, as the members below do.
  optimizer(optimizer const&) = default;
  /// Moves as a part of a derived class.
  optimizer(optimizer&&) noexcept = default;
  /// Copies the other's value.
  optimizer& operator=(optimizer const&) = default;
  /// Takes over the other's value, and releases that of before.
  optimizer& operator=(optimizer&&) noexcept = default;
};

}  // namespace tutti::nn
