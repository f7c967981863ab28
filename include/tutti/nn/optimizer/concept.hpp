// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <span>

namespace tutti::nn {

/// How weights follow their gradients. `step` moves the weights, and whatever the optimizer remembers,
/// at a learning rate; the gradients are those of the mean loss over the whole batch.
///
/// Law: what it does is a function of the weights, the gradients and the rates that it was given, in bits:
/// replicas that start alike stay alike. It allocates nothing.
template <class O>
concept optimizer = requires(O& o, std::span<typename O::value_type> weights,
                             std::span<typename O::value_type const> gradients, typename O::value_type rate) {
  { o.step(weights, gradients, rate) } -> std::same_as<void>;
};

}  // namespace tutti::nn
