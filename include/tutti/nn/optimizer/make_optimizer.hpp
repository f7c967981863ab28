// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/parameter_range.hpp>
#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/extend/optimizer.hpp>

#include <memory>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Makes the optimizer of the settings. With `settings::decays_all` all parameters of the layers decay.
/// @param layers the ranges of each layer's parameters
/// @throws precondition_error if the settings do not fit each other
[[nodiscard]] TUTTI_DECL std::unique_ptr<optimizer<float>> make_optimizer(settings const& settings,
                                                                          std::vector<parameter_range> layers);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/optimizer/make_optimizer.ipp>
#endif
