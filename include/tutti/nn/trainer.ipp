// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/trainer/timed_strategy.hpp>
#include <tutti/nn/schedule/learning_rate.hpp>
#include <tutti/nn/trainer.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

/// A strategy's view of one step of a replica.
class replica_step final : public training_step {
 public:
  /// @param samples the number of images behind this rank's gradients
  replica_step(replica& model, std::size_t batch, std::size_t samples, float rate) noexcept
      : model_(model), batch_(batch), samples_(samples), rate_(rate) {}

  [[nodiscard]] std::span<float> parameters() override { return model_.parameters(); }
  [[nodiscard]] std::span<float> gradient_buffer() override { return model_.gradient_buffer(); }
  [[nodiscard]] std::size_t samples() const noexcept override { return samples_; }
  [[nodiscard]] float learning_rate() const noexcept override { return rate_; }
  void update() override { model_.update(rate_); }
  void update_local() override {
    if (samples_ != 0) {
      model_.rescale_to_local_mean(batch_);
      model_.update(rate_);
    }
  }

 private:
  replica& model_;
  std::size_t batch_;
  std::size_t samples_;
  float rate_;
};

/// This rank's share of the test metrics. Those of a reproducible replica are all on the first rank.
[[nodiscard]] inline batch_metrics<float> local_test_metrics(replica& model, nn::strategy& strategy) {
  auto result = model.test();
  if (model.settings().reproducible) {
    std::array<float, 2> numbers;
    strategy.sum_accumulators(model.test_sums(), numbers);
    result = strategy.rank() == 0 ? batch_metrics<float>{numbers[0], numbers[1]} : batch_metrics<float>{};
  }
  return result;
}

/// Replaces the statistics by their mean over ranks, weighted by the images that each rank has trained on since the
/// last epoch. A rank without images still has the previous mean and weighs nothing.
inline void average_statistics(replica& model, nn::strategy& strategy) {
  auto const statistics = model.statistics();
  if (statistics.empty()) {
    return;
  }
  auto const images = static_cast<float>(model.statistics_images());
  std::vector<float> sums(statistics.size());  // a copy, because a sum that fails must not destroy the statistics
  std::ranges::transform(statistics, sums.begin(), [&](float value) { return images > 0 ? images * value : 0.0F; });
  sums.push_back(images);
  strategy.sum(sums);
  if (float const total_images = sums.back(); total_images > 0) {
    std::ranges::transform(std::span(sums).first(statistics.size()), statistics.begin(),
                           [&](float sum) { return sum / total_images; });
  }
}

/// Tells a strategy the place of the gradients: on the device, if it sums them there.
inline void begin_step(replica& model, nn::strategy& strategy) {
  auto const* const on_device = model.on_device();
  if (on_device == nullptr || !strategy.begin_on_device(*on_device)) {
    strategy.begin(model.gradient_buffer());
  }
}

/// The moment of a training on which the learning rate depends.
[[nodiscard]] inline moment moment_of(replica const& model, std::size_t epoch, std::size_t batch) {
  moment result;
  result.steps = model.plan().steps();
  result.step = model.plan().steps_before(epoch) + batch;
  result.epoch = static_cast<double>(epoch) + static_cast<double>(batch) / static_cast<double>(model.batches());
  return result;
}

/// @throws precondition_error if the strategy cannot do what the settings require
inline void expect_fit(settings const& settings, nn::strategy const& strategy) {
  expects(!settings.reproducible || strategy.adds_accumulators(),
          "train: a reproducible replica needs a strategy that adds accumulators; use the strategy reproducible, or "
          "set settings::reproducible to false");
  expects(strategy.momentum() == (settings.momentum_corrected ? settings.momentum : 0),
          "train: the strategy has a momentum of ", strategy.momentum(), ", and the settings one of ",
          settings.momentum_corrected ? settings.momentum : 0,
          " before the sum; give feedback(correction_of(settings)) to compressed_synchronous(sparse_sum), or set "
          "momentum_corrected "
          "to false for another strategy");
  expects(strategy.has_equal_weights() || !settings.synchronised_statistics,
          "train: synchronised_statistics needs equal weights on all ranks; choose a synchronous strategy, or set it "
          "to false");
}

/// Calls the observers after a step.
/// @throws divergence_error
inline void notify_observers(observers& observer_list, replica& model, training_position const& at,
                             replica_step const& step, metrics_scope scope, timed_strategy& timer) {
  auto const batch = model.metrics();
  bool const is_of_all_ranks = scope == metrics_scope::all_ranks;
  if (is_of_all_ranks) {
    expect_finite(double{batch.loss}, "step", model.plan().steps_before(at.epoch) + at.batch);
  }
  observer_list.step({at.epoch, at.batch, model.batch_size(at.batch), batch.loss, batch.correct, timer.now(),
                      step.learning_rate(), 0, 0},
                     model, step.samples() != 0 || is_of_all_ranks);
  // One rank reports the losses of all, if these take part in all steps: the sum then has equal bits for any number of
  // ranks.
  std::size_t const all_images = timer.rank() == 0 ? model.batch_size(at.batch) : 0;
  timer.end_step(step.samples(), batch.loss, timer.has_equal_weights() ? all_images : step.samples());
}

TUTTI_DECL void expect_finite(double loss, char const* unit, std::size_t number) {
  if (!std::isfinite(loss)) {
    throw divergence_error(std::string("the loss of ") + unit + " " + std::to_string(number) +
                           " is not finite: the training diverged; try a lower learning rate");
  }
}

TUTTI_DECL void train(replica& model, nn::strategy& strategy, observers& observer_list) {
  settings const& settings = model.settings();
  expect_fit(settings, strategy);
  any_schedule const rates(settings);
  if (model.position() == training_position{}) {
    strategy.broadcast(model.parameters());
  }
  if (settings.synchronised_statistics) {
    model.synchronise(rank_sum<float>(strategy));
  }
  timed_strategy timer(strategy, model.plan().batches(0));  // the first epoch has the most batches
  for (std::size_t epoch = model.position().epoch; epoch != settings.epochs; ++epoch) {
    timer.begin_epoch();
    model.start(epoch);
    for (std::size_t b = model.position().batch; b != model.batches(); ++b) {
      bool const participates = strategy.participates();
      if (participates) {
        begin_step(model, timer);
        model.gradient(b, timer);
      }
      replica_step step(model, b, participates ? model.shard_size(b) : 0, rates.rate(moment_of(model, epoch, b)));
      metrics_scope const scope = timer.step(step);
      model.end_step();
      notify_observers(observer_list, model, {epoch, b}, step, scope, timer);
    }
    average_statistics(model, strategy);
    strategy.average_weights(model.parameters());  // ranks with less work wait here for the others
    timer.end_training();
    auto const result = timer.end_epoch(epoch, local_test_metrics(model, strategy), model.test_size());
    expect_finite(result.training_loss, "epoch", epoch + 1);
    expect_finite(result.test_loss, "the test after epoch", epoch + 1);  // the last step's update shows only here
    model.end_epoch();
    model.statistics_images(0);  // must follow average_statistics: survivors of a lost rank may repeat the mean
    if (epoch + 1 != settings.epochs) {
      strategy.restore_weights(model.parameters());
    }
    observer_list.epoch(result);
  }
}

}  // namespace tutti::nn::detail
