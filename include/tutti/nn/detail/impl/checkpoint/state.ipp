// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/expects.hpp>
#include <tutti/nn/checkpoint/state.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn::detail {

TUTTI_DECL void restore(training_state const& from, own_numbers const& to) {
  auto const own = to.statistics;
  expects(from.parameters.size() == to.parameters.size() && from.optimizer.size() == to.optimizer.size() &&
              from.statistics.size() == own.size() * from.ranks,
          "restore: the state has ", from.parameters.size(), " parameters, ", from.optimizer.size(),
          " numbers of the optimizer and ", from.statistics.size(), " statistics of ", from.ranks,
          " ranks; the replica has ", to.parameters.size(), ", ", to.optimizer.size(), " and ", own.size(),
          " on each rank");
  std::ranges::copy(from.parameters, to.parameters.begin());
  std::ranges::copy(from.optimizer, to.optimizer.begin());
  if (from.ranks == to.ranks) {
    std::ranges::copy(std::span(from.statistics).subspan(own.size() * to.rank, own.size()), own.begin());
  } else {
    for (std::size_t i = 0; i != own.size(); ++i) {
      float sum = 0;
      for (std::size_t r = 0; r != from.ranks; ++r) {
        sum += from.statistics[r * own.size() + i];
      }
      own[i] = sum / static_cast<float>(from.ranks);
    }
  }
}

}  // namespace tutti::nn::detail
