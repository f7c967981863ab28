// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/expects.hpp>
#include <tutti/nn/detail/optimizer/corrected_sgd.hpp>
#include <tutti/nn/optimizer/lars.hpp>
#include <tutti/nn/optimizer/sgd.hpp>
#include <tutti/nn/parameter_range.hpp>
#include <tutti/nn/settings.hpp>

#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace tutti::nn {

/// An optimizer that is chosen at run time.
class any_optimizer {
 public:
  using value_type = float;

  /// @param layers where each layer's parameters lie
  any_optimizer(settings const& settings, std::vector<parameter_range> layers)
      : chosen_(choose(settings, std::move(layers))) {}

  void step(std::span<float> weights, std::span<float const> gradients, float rate) {
    std::visit([&](auto& one) { one.step(weights, gradients, rate); }, chosen_);
  }

  [[nodiscard]] std::span<float> state() {
    return std::visit([](auto& one) { return one.state(); }, chosen_);
  }

 private:
  using alternatives = std::variant<sgd<float>, sgd<float, nesterov>, detail::corrected_sgd<float>,
                                    detail::corrected_sgd<float, nesterov>, lars<float>>;

  static alternatives choose(settings const& settings, std::vector<parameter_range> layers) {
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

  alternatives chosen_;
};

static_assert(optimizer<any_optimizer>);

}  // namespace tutti::nn
