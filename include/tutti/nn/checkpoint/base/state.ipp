// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn::detail {

TUTTI_DECL std::size_t restore(training_state const& from, own_numbers const& to) {
  auto const own = to.statistics;
  std::size_t const each = own.empty() ? 0 : own.size() + 1;
  expects(from.parameters.size() == to.parameters.size() && from.optimizer.size() == to.optimizer.size() &&
              from.statistics.size() == each * from.ranks,
          "restore: the state has ", from.parameters.size(), " parameters, ", from.optimizer.size(),
          " numbers of the optimizer and ", from.statistics.size(), " statistics of ", from.ranks,
          " ranks; the replica has ", to.parameters.size(), ", ", to.optimizer.size(), " and ", each, " on each rank");
  std::ranges::copy(from.parameters, to.parameters.begin());
  std::ranges::copy(from.optimizer, to.optimizer.begin());
  if (own.empty()) {
    return 0;
  }
  auto const remembered = [&](std::size_t rank) { return std::span(from.statistics).subspan(each * rank, own.size()); };
  auto const images = [&](std::size_t rank) { return from.statistics[each * rank + own.size()]; };
  if (from.ranks == to.ranks) {
    std::ranges::copy(remembered(to.rank), own.begin());
    return static_cast<std::size_t>(images(to.rank));
  }
  float all = 0;
  // The result if no rank has seen an image since: the statistics are equal on all.
  std::ranges::copy(remembered(0), own.begin());
  for (std::size_t r = 0; r != from.ranks; ++r) {
    if (images(r) > 0) {
      all += images(r);
      std::ranges::transform(own, remembered(r), own.begin(), [share = images(r) / all](float mean, float value) {
        return mean + share * (value - mean);
      });
    }
  }
  return 0;
}

}  // namespace tutti::nn::detail
