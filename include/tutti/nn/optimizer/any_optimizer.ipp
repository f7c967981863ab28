// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/optimizer/any_optimizer.hpp>

#include <utility>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL any_optimizer::any_optimizer(settings const& settings, std::vector<parameter_range> layers)
    : chosen_(choose(settings, std::move(layers))) {}

TUTTI_DECL void any_optimizer::step(std::span<float> weights, std::span<float const> gradients, float rate) {
  std::visit([&](auto& one) { one.step(weights, gradients, rate); }, chosen_);
}

TUTTI_DECL std::span<float> any_optimizer::state() {
  return std::visit([](auto& one) { return one.state(); }, chosen_);
}

TUTTI_DECL any_optimizer::alternatives any_optimizer::choose(settings const& settings,
                                                             std::vector<parameter_range> layers) {
  std::size_t const count = layers.empty() ? 0 : layers.back().offset + layers.back().size;
  expects(!settings.momentum_corrected || settings.optimizer != optimizer_kind::lars,
          "any_optimizer: momentum correction goes with sgd and nesterov, not with lars, which needs the sum of "
          "plain gradients; set momentum_corrected to false");
  auto const with = [&](auto momentum) -> alternatives {
    using kind = decltype(momentum);
    if (settings.momentum_corrected) {
      return detail::corrected_sgd<float, kind>(count, settings.momentum, settings.weight_decay);
    }
    return sgd<float, kind>(count, settings.momentum, settings.weight_decay);
  };
  switch (settings.optimizer) {
    case optimizer_kind::nesterov:
      return with(nesterov{});
    case optimizer_kind::lars:
      return lars<float>(std::move(layers), {settings.momentum, settings.weight_decay, settings.trust});
    case optimizer_kind::sgd:
      break;
  }
  return with(heavy_ball{});
}

}  // namespace tutti::nn
