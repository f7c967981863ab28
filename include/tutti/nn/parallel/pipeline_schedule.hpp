// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// A stage's work on one micro-batch.
struct pipeline_task {
  /// True on the way back, false on the way forward.
  bool backward = false;
  std::size_t micro_batch = 0;  ///< which part of the batch

  friend constexpr bool operator==(pipeline_task const&, pipeline_task const&) = default;
};

/// In which order a stage of a pipeline works on the micro-batches of a batch: `at(stages, micro_batches,
/// stage, i)` is its task i of 2 x micro_batches, `kept(...)` of how many micro-batches it keeps the values at a
/// time. All micro-batches go through the pipe between two updates of the weights, so the result is that of the
/// same batch in the same pieces on one rank.
///
/// Laws (test/nn/parallel_pipeline.cpp): every micro-batch goes forward once and then backward once, both ways in
/// rising order; the stages never wait for each other in a circle; no stage has more micro-batches forward and not
/// yet backward than it keeps. While all stages take the same time for a micro-batch, a stage stands still for
/// (stages - 1) / (micro_batches + stages - 1) of the time.
template <class S>
concept pipeline_schedule = requires(std::size_t number) {
  { S::at(number, number, number, number) } -> std::same_as<pipeline_task>;
  { S::kept(number, number, number) } -> std::same_as<std::size_t>;
};

/// All forward, then all backward: Huang et al., "GPipe: Efficient training of giant neural networks using pipeline
/// parallelism", NeurIPS 2019. (There the values are computed again for backward; here they are kept.)
struct gpipe {
  /// Task i of a stage: all forward, then all backward.
  static constexpr pipeline_task at(std::size_t, std::size_t micro_batches, std::size_t, std::size_t i) noexcept {
    return {i >= micro_batches, i % micro_batches};
  }
  /// How many micro-batches a stage keeps at most: all.
  static constexpr std::size_t kept(std::size_t, std::size_t micro_batches, std::size_t) noexcept {
    return micro_batches;
  }
};

/// As many forward as fill the pipe behind the stage, then one forward and one backward in turns, at last what is left
/// backward: Narayanan et al., "PipeDream: Generalized pipeline parallelism for DNN training", SOSP 2019; flushed
/// between updates as in Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021. Stands still
/// as long as gpipe, and keeps the values of no more micro-batches than there are stages from this one on.
struct one_forward_one_backward {
  /// Task i of a stage: forward until the pipeline is full, then in turns.
  static constexpr pipeline_task at(std::size_t stages, std::size_t micro_batches, std::size_t stage,
                                    std::size_t i) noexcept {
    std::size_t const ahead = kept(stages, micro_batches, stage) - 1;
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
  /// How many micro-batches a stage keeps at most.
  static constexpr std::size_t kept(std::size_t stages, std::size_t micro_batches, std::size_t stage) noexcept {
    return (std::min)(stages - stage, micro_batches);
  }
};

static_assert(pipeline_schedule<gpipe> && pipeline_schedule<one_forward_one_backward>);

}  // namespace tutti::nn
