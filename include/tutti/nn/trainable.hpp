// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/nn/gradient_listener.hpp>
#include <tutti/nn/loss/score.hpp>
#include <tutti/nn/pace.hpp>
#include <tutti/nn/parameter_range.hpp>
#include <tutti/nn/pass.hpp>
#include <tutti/nn/schedule/batch_plan.hpp>
#include <tutti/nn/settings.hpp>
#include <tutti/nn/training_place.hpp>
#include <tutti/reduction/binned.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// One rank's copy of a model, with its optimizer and its part of the data, as the trainer, checkpoints and parameter
/// servers see it: `basic_replica` of any learner.
///
/// All that it shows of its numbers is host memory. What `parameters()`, `message()`, `statistics()` and
/// `optimizer_state()` return may be written until the replica computes again - `gradient`, `update`, `test`, `start` -
/// and is to be asked for anew after that. `gradient` returns the message; of what its listener was told that
/// it is final nothing is written any more, so that a sum may begin there.
///
/// Law: after the same numbers were written there, replicas of the same settings and data take the same steps of the
/// same batches, whatever computes; `update` has the same bits on all.
template <class R>
concept trainable = requires(R& r, R const& c, std::size_t n, rank_type rank, float rate, rank_sum<float> sum,
                             training_place const& place, gradient_listener& listener) {
  { c.settings() } -> std::same_as<settings const&>;
  { c.speed() } -> std::same_as<pace const&>;
  { r.parameters() } -> std::same_as<std::span<float>>;
  { c.parameters() } -> std::same_as<std::span<float const>>;
  { r.message() } -> std::same_as<std::span<float>>;
  { r.statistics() } -> std::same_as<std::span<float>>;
  { c.statistics_images() } -> std::same_as<std::size_t>;
  r.statistics_images(n);
  { r.optimizer_state() } -> std::same_as<std::span<float>>;
  { c.ranges() } -> std::same_as<std::vector<parameter_range>>;
  { c.sums() } -> std::same_as<std::span<binned const>>;
  { c.test_sums() } -> std::same_as<std::span<binned const>>;
  { c.plan() } -> std::same_as<batch_plan const&>;
  { c.batches() } -> std::same_as<std::size_t>;
  { c.batch_size(n) } -> std::same_as<std::size_t>;
  { c.shard_size(n) } -> std::same_as<std::size_t>;
  { c.training_size() } -> std::same_as<std::size_t>;
  { c.test_size() } -> std::same_as<std::size_t>;
  { c.rank() } -> std::same_as<rank_type>;
  { c.size() } -> std::same_as<rank_type>;
  { c.place() } -> std::same_as<training_place const&>;
  r.set_rank(rank, rank);
  r.synchronise(sum);
  r.place(place);
  r.end_step();
  r.end_epoch();
  r.start(n);
  { r.gradient(n, listener) } -> std::same_as<std::span<float>>;
  r.keep_own(n);
  r.update(rate);
  { r.batch_score() } -> std::same_as<score<float>>;
  { r.test() } -> std::same_as<score<float>>;
  { r.test(n, n) } -> std::same_as<score<float>>;
};

}  // namespace tutti::nn
