// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/optimizer/corrected_sgd.hpp>
#include <tutti/nn/detail/optimizer/decay_runs.hpp>
#include <tutti/nn/optimizer/adam.hpp>
#include <tutti/nn/optimizer/lars.hpp>
#include <tutti/nn/optimizer/make_optimizer.hpp>
#include <tutti/nn/optimizer/sgd.hpp>

#include <utility>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL std::unique_ptr<optimizer<float>> make_optimizer(settings const& settings,
                                                            std::vector<parameter_range> layers) {
  expects(settings.optimizer >= optimizer_kind::sgd && settings.optimizer <= optimizer_kind::adamw,
          "optimizer: there is no kind ", static_cast<int>(settings.optimizer), "; use one of optimizer_kind");
  expects(!settings.momentum_corrected || settings.optimizer == optimizer_kind::sgd ||
              settings.optimizer == optimizer_kind::nesterov,
          "optimizer: ", name(settings.optimizer),
          " has no momentum correction; use sgd or nesterov, or set momentum_corrected to false");
  expects(!settings.momentum_corrected || settings.clip_norm == 0,
          "optimizer: clip_norm clips a sum of gradients, and with momentum_corrected ranks sum velocities; set "
          "clip_norm, which is ",
          settings.clip_norm, ", to 0, and give local_clipping to the compression");
  layers = detail::decaying_ranges(std::move(layers), settings.decays_all);
  auto const make_sgd = [&](auto momentum) -> std::unique_ptr<optimizer<float>> {
    using kind = decltype(momentum);
    if (settings.momentum_corrected) {
      return std::make_unique<detail::corrected_sgd<float, kind>>(layers, settings.momentum, settings.weight_decay);
    }
    return std::make_unique<sgd<float, kind>>(layers, settings.momentum, settings.weight_decay);
  };
  auto const make_adam = [&](auto decay) -> std::unique_ptr<optimizer<float>> {
    using kind = adam<float, decltype(decay)>;
    return std::make_unique<kind>(
        layers, typename kind::coefficients{settings.beta1, settings.beta2, settings.epsilon, settings.weight_decay});
  };
  switch (settings.optimizer) {
    case optimizer_kind::sgd:
      return make_sgd(heavy_ball{});
    case optimizer_kind::nesterov:
      return make_sgd(nesterov{});
    case optimizer_kind::lars:
      return std::make_unique<lars<float>>(
          std::move(layers), lars<float>::coefficients{settings.momentum, settings.weight_decay, settings.trust});
    case optimizer_kind::adam:
      return make_adam(loss_decay{});
    case optimizer_kind::adamw:
      return make_adam(decoupled_decay{});
  }
  return nullptr;  // not reached
}

}  // namespace tutti::nn
