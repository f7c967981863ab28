// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn::detail {

TUTTI_DECL std::size_t restore(training_state const& state, local_state const& local) {
  auto const statistics = local.statistics;
  std::size_t const size_per_rank = statistics.empty() ? 0 : statistics.size() + 1;
  expects(state.parameters.size() == local.parameters.size() && state.optimizer.size() == local.optimizer.size() &&
              state.statistics.size() == size_per_rank * state.ranks,
          "restore: the state has ", state.parameters.size(), " parameters, ", state.optimizer.size(),
          " numbers of the optimizer and ", state.statistics.size(), " statistics of ", state.ranks,
          " ranks; the replica has ", local.parameters.size(), ", ", local.optimizer.size(), " and ", size_per_rank,
          " on each rank");
  std::ranges::copy(state.parameters, local.parameters.begin());
  std::ranges::copy(state.optimizer, local.optimizer.begin());
  if (statistics.empty()) {
    return 0;
  }
  auto const saved_statistics = [&](std::size_t rank) {
    return std::span(state.statistics).subspan(size_per_rank * rank, statistics.size());
  };
  auto const images = [&](std::size_t rank) { return state.statistics[size_per_rank * rank + statistics.size()]; };
  if (state.ranks == local.ranks) {
    std::ranges::copy(saved_statistics(local.rank), statistics.begin());
    return static_cast<std::size_t>(images(local.rank));
  }
  float total_images = 0;
  // The result if no rank has seen an image since: the statistics are equal on all.
  std::ranges::copy(saved_statistics(0), statistics.begin());
  for (std::size_t r = 0; r != state.ranks; ++r) {
    if (images(r) > 0) {
      total_images += images(r);
      std::ranges::transform(
          statistics, saved_statistics(r), statistics.begin(),
          [share = images(r) / total_images](float mean, float value) { return mean + share * (value - mean); });
    }
  }
  return 0;
}

}  // namespace tutti::nn::detail
