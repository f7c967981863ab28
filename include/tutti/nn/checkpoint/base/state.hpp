// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/training_position.hpp>
#include <tutti/nn/replica.hpp>

#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The complete state of a training, from which it continues as if it had never stopped.
struct training_state {
  training_position place;        ///< position in the training
  rank_type ranks = 1;            ///< number of ranks of the training
  std::vector<float> parameters;  ///< parameters, equal on all ranks
  std::vector<float> optimizer;   ///< state of the optimizer, equal on all ranks
  /// For each rank: the statistics of its layers, then the number of images that they have followed since they were
  /// last equal on all ranks.
  std::vector<float> statistics;
  std::string history;  ///< encoded steps and epochs so far
};

/// The position at which a training was resumed.
struct resume_position {
  training_position place;  ///< position in the training
  rank_type ranks = 0;      ///< number of ranks of the interrupted training
};

namespace detail {

/// The vectors of a replica, with its rank, which selects its part of the statistics.
struct local_state {
  std::span<float> parameters;
  std::span<float> optimizer;
  std::span<float> statistics;
  rank_type rank;
  rank_type ranks;
};

/// @returns the number of images that the statistics have followed since they were last equal on all ranks
TUTTI_DECL std::size_t restore(training_state const& state, local_state const& local);

/// The statistics of a rank's layers, then the number of images that they have followed; empty if there are no
/// statistics.
[[nodiscard]] inline std::vector<float> weighed_statistics(replica& model) {
  auto const statistics = model.statistics();
  std::vector<float> result(statistics.begin(), statistics.end());
  if (!result.empty()) {
    result.push_back(static_cast<float>(model.statistics_images()));
  }
  return result;
}

}  // namespace detail

/// Restores a replica's state on the same rank. With another number of ranks, layers receive the mean of all ranks'
/// statistics, weighted by the images that each has seen, as at the end of each epoch.
/// @pre the state is that of a training like the replica's
inline void restore(training_state const& state, replica& model) {
  model.statistics_images(detail::restore(
      state, {model.parameters(), model.optimizer_state(), model.statistics(), model.rank(), model.size()}));
  model.position(state.place);
}

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/checkpoint/base/state.ipp>
#endif
