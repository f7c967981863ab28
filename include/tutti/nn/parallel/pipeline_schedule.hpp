// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// A stage's work on one micro-batch.
struct pipeline_task {
  /// True for backward, false for forward.
  bool backward = false;
  std::size_t micro_batch = 0;  ///< index of the micro-batch in the batch

  friend constexpr bool operator==(pipeline_task const&, pipeline_task const&) = default;
};

/// The order in which a stage of a pipeline works on the micro-batches of a batch: `at(stages, micro_batches, stage,
/// i)` is its task i of 2 x micro_batches, `kept(...)` the number of micro-batches whose values it keeps at a time.
/// All micro-batches pass through the pipeline between two updates of the weights, so the result is that of the same
/// batch in the same pieces on one rank.
///
/// Laws (test/nn/parallel_pipeline.cpp): every micro-batch passes forward once and then backward once, in ascending
/// order in each direction; stages never wait for each other in a cycle; no stage has more micro-batches between
/// forward and backward than it keeps. If all stages need equal times for a micro-batch, a stage is idle for (stages
/// - 1) / (micro_batches + stages - 1) of the time.
template <class S>
concept pipeline_schedule = requires(std::size_t number) {
  { S::at(number, number, number, number) } -> std::same_as<pipeline_task>;
  { S::capacity(number, number, number) } -> std::same_as<std::size_t>;
};

/// All micro-batches forward, then all backward: Huang et al., "GPipe: Efficient training of giant neural networks
/// using pipeline parallelism", NeurIPS 2019. (GPipe recomputes the values for backward; here they are kept.)
struct gpipe {
  /// The task i of a stage: all forward, then all backward.
  static constexpr pipeline_task at(std::size_t, std::size_t micro_batches, std::size_t, std::size_t i) noexcept {
    return {i >= micro_batches, i % micro_batches};
  }
  /// The number of micro-batches that a stage keeps: all.
  static constexpr std::size_t capacity(std::size_t, std::size_t micro_batches, std::size_t) noexcept {
    return micro_batches;
  }
};

/// Fills the rest of the pipeline with micro-batches forward, then alternates between one forward and one backward,
/// then runs the remaining ones backward: Narayanan et al., "PipeDream: Generalized pipeline parallelism for DNN
/// training", SOSP 2019; flushed between updates as in Narayanan et al., "Memory-efficient pipeline-parallel DNN
/// training", ICML 2021. Idle as long as gpipe; keeps the values of at most as many micro-batches as there are stages
/// from this one on.
struct one_forward_one_backward {
  /// The task i of a stage: forward until the pipeline is full, then alternating.
  static constexpr pipeline_task at(std::size_t stages, std::size_t micro_batches, std::size_t stage,
                                    std::size_t i) noexcept {
    std::size_t const ahead = capacity(stages, micro_batches, stage) - 1;
    if (i < ahead) {
      return {false, i};
    }
    std::size_t const pairs = micro_batches - ahead;
    std::size_t const in_turns = i - ahead;
    if (in_turns < 2 * pairs) {
      return in_turns % 2 == 0 ? pipeline_task{false, ahead + in_turns / 2} : pipeline_task{true, in_turns / 2};
    }
    return {true, in_turns - pairs};
  }
  /// The largest number of micro-batches that a stage keeps.
  static constexpr std::size_t capacity(std::size_t stages, std::size_t micro_batches, std::size_t stage) noexcept {
    return (std::min)(stages - stage, micro_batches);
  }
};

static_assert(pipeline_schedule<gpipe> && pipeline_schedule<one_forward_one_backward>);

}  // namespace tutti::nn
