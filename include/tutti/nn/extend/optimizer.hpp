// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <concepts>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// How weights follow their gradients. `step` moves the weights, and whatever the optimizer remembers,
/// at a learning rate; the gradients are those of the mean loss over the whole batch. `state` is what it remembers:
/// zeros at first, and part of a saved training.
///
/// Law: what it does is a function of its state, the weights, the gradients and the rate, in bits: replicas that start
/// alike stay alike, and one that got another's weights and state goes on as that one would. It allocates nothing.
template <class O>
concept optimizer = requires(O& o, std::span<typename O::value_type> weights,
                             std::span<typename O::value_type const> gradients, typename O::value_type rate) {
  { o.step(weights, gradients, rate) } -> std::same_as<void>;
  { o.state() } -> std::same_as<std::span<typename O::value_type>>;
};

}  // namespace tutti::nn
