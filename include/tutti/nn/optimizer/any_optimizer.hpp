// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/optimizer/corrected_sgd.hpp>
#include <tutti/nn/optimizer/lars.hpp>
#include <tutti/nn/optimizer/sgd.hpp>
#include <tutti/nn/parameter_range.hpp>
#include <tutti/nn/settings.hpp>

#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// An optimizer that is chosen at run time.
class any_optimizer {
 public:
  using value_type = float;

  /// @param layers where each layer's parameters lie
  any_optimizer(settings const& settings, std::vector<parameter_range> layers);

  void step(std::span<float> weights, std::span<float const> gradients, float rate);

  [[nodiscard]] std::span<float> state();

 private:
  using alternatives = std::variant<sgd<float>, sgd<float, nesterov>, detail::corrected_sgd<float>,
                                    detail::corrected_sgd<float, nesterov>, lars<float>>;

  static alternatives choose(settings const& settings, std::vector<parameter_range> layers);

  alternatives chosen_;
};

static_assert(optimizer<any_optimizer>);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/optimizer/any_optimizer.ipp>
#endif
