// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allgather.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/tensor.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Exchanges a matrix whose samples (rows) are divided over the ranks, equally many on each, in rank order: `gather`
/// collects all samples on every rank, `add_up` sums all ranks' values of all samples and leaves each rank its own
/// samples. Each is the derivative of the other. Samples are contiguous, so nothing is rearranged.
///
/// Cost: one collective each; over a ring a rank sends (n - 1) / n of the whole matrix.
template <class T, group Communicator, class Topology>
  requires offers<Topology, op::allgather> && offers<Topology, op::reduce_scatter>
class sample_exchange {
 public:
  /// The type of the numbers.
  using value_type = T;

  /// Constructs the exchange over a communicator, with a topology that has both operations.
  sample_exchange(Communicator& world, Topology topology)
      : world_(world.alias()), gather_(world, topology), add_up_(world, topology, tutti::sum<T>{}) {}

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept { return world_.rank(); }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return world_.size(); }

  /// Collects the samples of all ranks.
  /// @pre `all_samples` has as many rows as all ranks' `local_samples`
  void gather(matrix_view<T const> const& local_samples, matrix_view<T> all_samples) {
    expects(all_samples.shape(0) == local_samples.shape(0) * size(), "sample_exchange: ", size(), " ranks with ",
            local_samples.shape(0), " samples each do not make ", all_samples.shape(0));
    gather_(std::span(local_samples.data(), local_samples.size()), std::span(all_samples.data(), all_samples.size()));
  }

  /// Sums the values of this rank's samples; overwrites `all_samples`.
  /// @pre `all_samples` has as many rows as all ranks' `local_samples`
  void add_up(matrix_view<T> all_samples, matrix_view<T> local_samples) {
    expects(all_samples.shape(0) == local_samples.shape(0) * size(), "sample_exchange: ", all_samples.shape(0),
            " samples are not ", local_samples.shape(0), " for each of ", size(), " ranks");
    auto const sums = add_up_(std::span(all_samples.data(), all_samples.size()));
    std::ranges::copy(sums, local_samples.data());
  }

 private:
  Communicator world_;
  allgather<Communicator, Topology> gather_;
  reduce_scatter<Communicator, Topology, tutti::sum<T>> add_up_;
};

}  // namespace tutti::nn
