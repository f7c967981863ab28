// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/time.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/report/epoch_message.hpp>
#include <tutti/nn/report/metrics.hpp>
#include <tutti/nn/schedule/any_schedule.hpp>
#include <tutti/nn/strategy/concept.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace tutti::nn {

/// Watches a training. `step` is called after every update, `epoch` after every test.
template <class O>
concept observer = requires(O& o, step_result const& step, epoch_result const& epoch, replica const& model) {
  o.step(step, model);
  o.epoch(epoch);
};

/// The numbers grew beyond all bounds. Every rank finds out at the same step.
class diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

[[nodiscard]] inline double seconds(duration d) noexcept {
  return static_cast<double>(d.count()) * 1e-9;
}

/// Passes on what is complete, and knows how long the strategy took to hear it.
template <class Strategy>
struct timed_listener {
  void completed(std::size_t first) {
    time_point const before = steady_now();
    ranks.completed(first);
    spent += steady_now() - before;
  }

  Strategy& ranks;
  duration spent{};
};

}  // namespace detail

/// Trains the replicas of one model, one per rank of the strategy: every rank calls this with a
/// replica that differs in its rank alone. All ranks end with the same weights, bit for bit.
///
/// Each step's gradients are the strategy's as soon as they are computed. What it does with them while others are
/// computed is counted as communication, not as computing.
///
/// Cost: one `share` of the weights, one sum of the gradients per step, one small `sum` per epoch
/// for the test and the times; where layers keep statistics, one more per epoch for those, and two per
/// such layer and step where they are of all ranks. No allocation within a step but what observers do.
/// @throws diverged when the loss is not finite; what the strategy throws
template <strategy Strategy, observer... Observers>
void train(replica& model, Strategy& ranks, Observers&... observers) {
  settings const& asked = model.asked();
  any_schedule const rates(asked);
  moment now;
  now.steps = model.plan().steps();
  epoch_message figures(model.plan().batches(0), ranks.rank(), ranks.size());  // no epoch has more
  ranks.share(model.parameters());
  if (asked.synchronised_statistics) {
    model.synchronise(rank_sum<float>(ranks));
  }

  time_point const begin = steady_now();
  for (std::size_t epoch = 0; epoch != asked.epochs; ++epoch) {
    time_point const epoch_begin = steady_now();
    figures.clear();
    model.start(epoch);
    std::size_t const batches = model.batches();
    time_point since = epoch_begin;
    for (std::size_t b = 0; b != batches; ++b, ++now.step) {
      detail::timed_listener<Strategy> listener{ranks};
      ranks.begin(model.message());
      model.gradient(b, listener);
      time_point const ready = steady_now();
      ranks.finish();
      time_point const summed = steady_now();
      now.epoch = static_cast<double>(epoch) + static_cast<double>(b) / static_cast<double>(batches);
      auto const batch = model.update(rates.rate(now));
      time_point const done = steady_now();
      figures.add_compute(detail::seconds((ready - since) - listener.spent + (done - summed)));
      figures.set_exchange(b, detail::seconds(listener.spent + (summed - ready)));
      if (!std::isfinite(batch.loss)) {
        throw diverged("the loss of step " + std::to_string(now.step) +
                       " is not finite: the training diverged; try a lower learning rate");
      }
      [[maybe_unused]] step_result const result{
          epoch, b, model.batch_size(b), batch.loss, batch.correct, detail::seconds(done - begin)};
      (observers.step(result, std::as_const(model)), ...);
      since = steady_now();
    }
    if (auto const seen = model.statistics(); !seen.empty()) {
      ranks.sum(seen);  // all ranks test, and go on, with the mean of what each saw
      std::ranges::for_each(seen, [&](float& number) { number /= static_cast<float>(ranks.size()); });
    }
    time_point const trained = steady_now();
    figures.set_test(model.test());
    ranks.sum(figures.numbers());
    time_point const tested = steady_now();
    auto const test = figures.test();
    auto const images = static_cast<double>(model.test_size());
    [[maybe_unused]] epoch_result const result{epoch,
                                               model.training_size(),
                                               double{test.loss} / images,
                                               double{test.correct} / images,
                                               detail::seconds(trained - epoch_begin),
                                               detail::seconds(tested - trained),
                                               detail::seconds(tested - begin),
                                               figures.split()};
    (observers.epoch(result), ...);
  }
}

}  // namespace tutti::nn
