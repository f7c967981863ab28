// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/saved_model/load_tensors.hpp>
#include <tutti/nn/saved_model/load_weights.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL std::vector<std::string> load_weights(std::filesystem::path const& file, layer_list<float> const& layers,
                                                 std::span<float> parameters, std::span<float> statistics) {
  std::vector<geometry::variant> geometries;
  for (auto const& layer : layers) {
    geometries.push_back(layer.geometry());
  }
  auto const sizes = detail::sizes_of(geometries);
  expects(sizes.parameters == parameters.size() && sizes.statistics == statistics.size(),
          "load_weights: the layers have ", sizes.parameters, " parameters and ", sizes.statistics, " statistics, not ",
          parameters.size(), " and ", statistics.size(), "; give the layers of this model");
  return detail::load_tensors(detail::tensor_file(file), geometries, parameters, statistics, true);
}

}  // namespace tutti::nn
