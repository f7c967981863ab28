// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/training_place.hpp>
#include <tutti/nn/replica.hpp>

#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// All that a training needs to go on as if it had never stopped.
struct training_state {
  training_place place;           ///< how far the training has come
  rank_type ranks = 1;            ///< that it ran on
  std::vector<float> parameters;  ///< the same on all ranks
  std::vector<float> optimizer;   ///< what it remembers, the same on all ranks
  /// The statistics of each rank's layers, and the number of images that they followed since they were last the same
  /// on all ranks; rank after rank.
  std::vector<float> statistics;
  std::string history;  ///< the steps and epochs so far, encoded
};

/// Where a resumed training goes on.
struct resumed_from {
  training_place place;  ///< how far it had come
  rank_type ranks = 0;   ///< that it ran on
};

namespace detail {

/// Where a replica's numbers are, and which part of the statistics is its own.
struct own_numbers {
  std::span<float> parameters;
  std::span<float> optimizer;
  std::span<float> statistics;
  rank_type rank;
  rank_type ranks;
};

/// @returns the images that the statistics have followed since they were last the same on all ranks
TUTTI_DECL std::size_t restore(training_state const& from, own_numbers const& to);

/// The statistics of a rank's layers, and behind them the number of images that they followed; empty if there are no
/// statistics.
[[nodiscard]] inline std::vector<float> weighed_statistics(replica& model) {
  auto const own = model.statistics();
  std::vector<float> result(own.begin(), own.end());
  if (!result.empty()) {
    result.push_back(static_cast<float>(model.statistics_images()));
  }
  return result;
}

}  // namespace detail

/// Makes a replica what it was on the same rank. Among another number of ranks, layers get the mean of
/// what all ranks' layers remembered, by the images that each had seen, as at the end of each epoch.
/// @pre the state is of a training like the replica's
inline void restore(training_state const& from, replica& to) {
  to.statistics_images(
      detail::restore(from, {to.parameters(), to.optimizer_state(), to.statistics(), to.rank(), to.size()}));
  to.place(from.place);
}

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/checkpoint/base/state.ipp>
#endif
