// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/detail/parameter_server/rates.hpp>
#include <tutti/nn/detail/parameter_server/scheduler.hpp>
#include <tutti/nn/detail/parameter_server/work.hpp>
#include <tutti/nn/detail/trainer/stopwatch.hpp>
#include <tutti/nn/parameter_server/base/consistency.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/trainer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// Tells this rank's clock to observers that have `advanced`.
template <class Observer>
void tell_advance(Observer& to, clock_value clock) {
  if constexpr (requires { to.advanced(clock); }) {
    to.advanced(clock);
  }
}

/// Passes steps and tests on to the observers.
template <class... Observers>
class reporter {
 public:
  reporter(scheduler& tasks, replica& model, time_point begin, Observers&... observers)
      : tasks_(tasks), model_(model), begin_(begin), epoch_began_(begin), observers_(observers...) {}

  /// @throws divergence_error
  void tell(time_point now) {
    tell_tests(now);
    tell_steps(now);
  }

 private:
  void tell_steps(time_point now) {
    rates const over_time(model_.settings(), model_.plan());
    tasks_.for_each_step([&](std::size_t step, scheduler::step_sum const& sum) {
      auto const place = model_.plan().position(step);
      double const whole =
          static_cast<double>(sum.batch) / static_cast<double>(std::max<std::uint64_t>(sum.samples, 1));
      step_result one;
      one.epoch = place.epoch;
      one.batch = place.batch;
      one.images = static_cast<std::size_t>(sum.samples);
      one.loss = static_cast<float>(sum.loss * whole);
      one.accuracy = static_cast<float>(sum.correct * whole);
      one.seconds = nn::detail::seconds(now - begin_);
      one.rate = over_time.at(step);
      images_ += one.images;
      loss_ += double{one.loss} * static_cast<double>(one.images);
      if (!std::isfinite(one.loss)) {
        throw divergence_error("the loss of step " + std::to_string(step) +
                               " is not finite: the training diverged; try a lower learning rate, or less staleness");
      }
      std::apply([&](auto&... all) { (all.step(one, std::as_const(model_)), ...); }, observers_);
    });
  }
  void tell_tests(time_point now) {
    tasks_.for_each_test([&](scheduler::test_result const& test) {
      auto const images = static_cast<double>(model_.test_size());
      epoch_result one;
      one.epoch = test.epoch;
      one.images = model_.training_size();
      one.test_loss = double{test.loss} / images;
      one.test_accuracy = double{test.correct} / images;
      one.training_seconds = nn::detail::seconds(now - std::exchange(epoch_began_, now));
      one.seconds = nn::detail::seconds(now - begin_);
      one.training_loss =
          std::exchange(loss_, 0) / static_cast<double>(std::max<std::size_t>(std::exchange(images_, 0), 1));
      std::apply([&](auto&... all) { (all.epoch(one), ...); }, observers_);
    });
  }

  scheduler& tasks_;
  replica& model_;
  time_point begin_;
  time_point epoch_began_;
  std::size_t images_ = 0;  // images of the steps since the last test
  double loss_ = 0;
  std::tuple<Observers&...> observers_;
};

/// Gives rank 0's replica the servers' state, and calls the observers that save it.
template <class... Observers>
class resting {
 public:
  resting(scheduler const& tasks, replica& model, Observers&... observers)
      : tasks_(tasks), model_(model), held_(state_size(model)), observers_(observers...) {}

  [[nodiscard]] std::span<float> room() noexcept { return held_; }
  void done() {
    auto from = held_.begin();
    for (auto const to : {model_.parameters(), model_.optimizer_state(), model_.statistics()}) {
      auto const end = from + static_cast<std::ptrdiff_t>(to.size());
      std::copy(from, end, to.begin());
      from = end;
    }
    model_.position({tasks_.epochs_rested(), 0});
    std::apply([&](auto&... all) { (tell(all), ...); }, observers_);
  }

 private:
  void tell(auto& observer) {
    if constexpr (requires { observer.at_rest(model_); }) {
      observer.at_rest(model_);
    }
  }

  scheduler const& tasks_;
  replica& model_;
  std::vector<float> held_;
  std::tuple<Observers&...> observers_;
};

}  // namespace tutti::nn::parameter_server::detail
