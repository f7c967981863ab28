// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/optimizer/corrected_sgd.hpp>
#include <tutti/nn/optimizer/lars.hpp>
#include <tutti/nn/optimizer/make_optimizer.hpp>
#include <tutti/nn/optimizer/sgd.hpp>

#include <cstddef>
#include <utility>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL std::unique_ptr<optimizer<float>> make_optimizer(settings const& settings,
                                                            std::vector<parameter_range> layers) {
  std::size_t const count = layers.empty() ? 0 : layers.back().offset + layers.back().size;
  expects(!settings.momentum_corrected || settings.optimizer != optimizer_kind::lars,
          "optimizer: lars has no momentum correction; use sgd or nesterov, or set momentum_corrected to false");
  auto const make_sgd = [&](auto momentum) -> std::unique_ptr<optimizer<float>> {
    using kind = decltype(momentum);
    if (settings.momentum_corrected) {
      return std::make_unique<detail::corrected_sgd<float, kind>>(count, settings.momentum, settings.weight_decay);
    }
    return std::make_unique<sgd<float, kind>>(count, settings.momentum, settings.weight_decay);
  };
  switch (settings.optimizer) {
    case optimizer_kind::nesterov:
      return make_sgd(nesterov{});
    case optimizer_kind::lars:
      return std::make_unique<lars<float>>(
          std::move(layers), lars<float>::coefficients{settings.momentum, settings.weight_decay, settings.trust});
    case optimizer_kind::sgd:
      break;
  }
  return make_sgd(heavy_ball{});
}

}  // namespace tutti::nn
