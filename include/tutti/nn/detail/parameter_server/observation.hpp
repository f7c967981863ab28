// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/detail/parameter_server/rates.hpp>
#include <tutti/nn/detail/parameter_server/scheduler.hpp>
#include <tutti/nn/detail/parameter_server/work.hpp>
#include <tutti/nn/detail/trainer/timed_strategy.hpp>
#include <tutti/nn/parameter_server/base/consistency.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/trainer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// Tells this rank's clock to observers that have `on_advance`.
template <class Observer>
void tell_advance(Observer& observer, clock_value clock) {
  if constexpr (requires { observer.on_advance(clock); }) {
    observer.on_advance(clock);
  } else {
    static_assert(
        !requires { &Observer::on_advance; },
        "this observer's on_advance must be: void on_advance(tutti::nn::parameter_server::clock_value)");
  }
}

/// Passes steps and tests on to the observers.
template <class... Observers>
class reporter {
 public:
  reporter(scheduler& tasks, replica& model, time_point begin, Observers&... observers)
      : tasks_(tasks), model_(model), begin_(begin), epoch_begin_(begin), observers_(observers...) {}

  /// @throws divergence_error
  void tell(time_point now) {
    tell_tests(now);
    tell_steps(now);
  }

 private:
  void tell_steps(time_point now) {
    rates const schedule(model_.settings(), model_.plan());
    tasks_.for_each_step([&](std::size_t step, scheduler::step_sum const& sum) {
      auto const place = model_.plan().position(step);
      double const whole =
          static_cast<double>(sum.batch) / static_cast<double>(std::max<std::uint64_t>(sum.samples, 1));
      step_result result;
      result.epoch = place.epoch;
      result.batch = place.batch;
      result.images = static_cast<std::size_t>(sum.samples);
      result.loss = static_cast<float>(sum.loss * whole);
      result.accuracy = static_cast<float>(sum.correct * whole);
      result.seconds = nn::detail::seconds(now - begin_);
      result.rate = schedule.at(step);
      images_ += result.images;
      loss_ += double{result.loss} * static_cast<double>(result.images);
      nn::detail::expect_finite(double{result.loss}, "step", step);
      std::apply([&](auto&... observer) { (observer.step(result, std::as_const(model_)), ...); }, observers_);
    });
  }
  void tell_tests(time_point now) {
    tasks_.for_each_test([&](scheduler::test_result const& test) {
      auto const images = static_cast<double>(model_.test_size());
      epoch_result result;
      result.epoch = test.epoch;
      result.images = model_.training_size();
      result.test_loss = double{test.loss} / images;
      result.test_accuracy = double{test.correct} / images;
      result.training_seconds = nn::detail::seconds(now - std::exchange(epoch_begin_, now));
      result.seconds = nn::detail::seconds(now - begin_);
      result.training_loss =
          std::exchange(loss_, 0) / static_cast<double>(std::max<std::size_t>(std::exchange(images_, 0), 1));
      nn::detail::expect_finite(result.test_loss, "the test after epoch", test.epoch + 1);
      std::apply([&](auto&... observer) { (observer.epoch(result), ...); }, observers_);
    });
  }

  scheduler& tasks_;
  replica& model_;
  time_point begin_;
  time_point epoch_begin_;
  std::size_t images_ = 0;  // images of the steps since the last test
  double loss_ = 0;
  std::tuple<Observers&...> observers_;
};

/// Gives rank 0's replica the servers' state, and calls the observers that save it.
template <class... Observers>
class state_receiver {
 public:
  state_receiver(scheduler const& tasks, replica& model, Observers&... observers)
      : tasks_(tasks), model_(model), state_(state_size(model)), observers_(observers...) {}

  [[nodiscard]] std::span<float> buffer() noexcept { return state_; }
  /// @returns false if an observer ends the training
  [[nodiscard]] bool deliver() {
    auto position = state_.begin();
    for (auto const destination : {model_.parameters(), model_.optimizer_state(), model_.statistics()}) {
      auto const end = position + static_cast<std::ptrdiff_t>(destination.size());
      std::copy(position, end, destination.begin());
      position = end;
    }
    model_.position({tasks_.epochs_at_pause(), 0});
    bool continues = true;
    std::apply([&](auto&... observer) { ((continues = tell(observer) && continues), ...); }, observers_);
    return continues;
  }

 private:
  template <class Observer>
  bool tell(Observer& observer) {
    if constexpr (requires { static_cast<bool>(observer.on_pause(model_)); }) {
      return observer.on_pause(model_);
    } else if constexpr (requires { observer.on_pause(model_); }) {
      observer.on_pause(model_);
    } else {
      static_assert(
          !requires { &Observer::on_pause; },
          "this observer's on_pause must be: void or bool on_pause(tutti::nn::replica const&)");
    }
    return true;
  }

  scheduler const& tasks_;
  replica& model_;
  std::vector<float> state_;
  std::tuple<Observers&...> observers_;
};

}  // namespace tutti::nn::parameter_server::detail
