// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/parallel/cut_layers.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline parallel {

TUTTI_DECL std::vector<std::size_t> cut_layers(std::span<std::size_t const> costs, std::size_t stages) {
  expects(stages >= 1 && stages <= costs.size(), "cut_layers: ", costs.size(), " layers cannot be cut into ", stages,
          " stages of at least one layer; use fewer ranks");
  std::size_t const layers = costs.size();
  std::vector<std::size_t> cost_before(layers + 1);  // cost of all layers before each one
  std::partial_sum(costs.begin(), costs.end(), cost_before.begin() + 1);
  // For the first `end` layers in s + 1 stages: the cost of the most expensive stage, and the first layer of the last
  // stage.
  std::vector<std::size_t> highest_cost(cost_before);
  std::vector<std::vector<std::size_t>> begins(stages, std::vector<std::size_t>(layers + 1));
  for (std::size_t s = 1; s != stages; ++s) {
    for (std::size_t end = layers; end > s; --end) {
      std::size_t best = cost_before[layers] + 1;
      for (std::size_t begin = s; begin != end; ++begin) {
        std::size_t const cost = (std::max)(highest_cost[begin], cost_before[end] - cost_before[begin]);
        if (cost < best) {
          best = cost;
          begins[s][end] = begin;
        }
      }
      highest_cost[end] = best;
    }
  }
  std::vector<std::size_t> cuts(stages + 1, layers);
  for (std::size_t s = stages; s-- != 0;) {
    cuts[s] = begins[s][cuts[s + 1]];
  }
  return cuts;
}

}  // namespace tutti::nn::detail::parallel
