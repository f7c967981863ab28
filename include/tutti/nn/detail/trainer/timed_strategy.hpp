// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/detail/report/epoch_message.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/loss/batch_metrics.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::inline trainer {

[[nodiscard]] inline double seconds(duration d) noexcept {
  return static_cast<double>(d.count()) * 1e-9;
}

/// Wraps the strategy of a training, and measures the times of its parts: computing, the update, and the exchange,
/// which is the rest of the strategy's work.
class timed_strategy final : public strategy_adaptor {
 public:
  /// @param steps largest number of steps of an epoch
  timed_strategy(nn::strategy& inner, std::size_t steps)
      : strategy_adaptor(inner), inner_(inner), figures_(steps, inner.rank(), inner.size()) {}

  void begin_epoch() noexcept {
    figures_.clear();
    step_ = 0;
    images_ = 0;
    loss_ = 0;
    epoch_begin_ = step_begin_ = steady_now();
  }
  /// Ends a step on this many images of this rank, after its observers; the next one begins.
  /// @param loss the mean loss
  /// @param loss_images number of images whose loss this rank reports
  void end_step(std::size_t images, float loss, std::size_t loss_images) noexcept {
    images_ += images;
    loss_ += loss_images == 0 ? 0.0 : double{loss} * static_cast<double>(loss_images);
    step_begin_ = steady_now();
  }
  /// The seconds from the beginning of the training to the end of the last step.
  [[nodiscard]] double now() const noexcept { return seconds(step_end_ - begin_); }
  void end_training() noexcept { training_end_ = steady_now(); }
  /// Sums times and batch metrics over all ranks. Collective.
  /// @param test sums over this rank's part of the test images
  /// @param tests number of test images of all ranks
  [[nodiscard]] epoch_result end_epoch(std::size_t epoch, batch_metrics<float> const& test, std::size_t tests) {
    figures_.set_training(images_, loss_);
    figures_.set_test(test);
    sum(figures_.numbers());
    time_point const test_end = steady_now();
    auto const total = figures_.test();
    auto const count = static_cast<double>(tests);
    return {epoch,
            figures_.images(),
            double{total.loss} / count,
            double{total.correct} / count,
            seconds(training_end_ - epoch_begin_),
            seconds(test_end - training_end_),
            seconds(test_end - begin_),
            figures_.split(),
            double{figures_.loss()} / static_cast<double>((std::max)(figures_.images(), std::size_t{1}))};
  }

  // The strategy's part of a step.
  void begin(std::span<float> gradient_buffer) override {
    measure([&] { inner_.begin(gradient_buffer); });
  }
  [[nodiscard]] bool begin_on_device(any_device_gradient_buffer const& gradient_buffer) override {
    bool sums_on_device = false;
    measure([&] { sums_on_device = inner_.begin_on_device(gradient_buffer); });
    return sums_on_device;
  }
  void on_completion(std::size_t first) override {
    measure([&] { inner_.on_completion(first); });
  }
  void on_enqueue(std::size_t first) override {
    measure([&] { inner_.on_enqueue(first); });
  }
  metrics_scope step(training_step& step) override {
    time_point const ready = steady_now();
    timed_step timer(step);
    metrics_scope const scope = inner_.step(timer);
    step_end_ = steady_now();
    auto const strategy_time = std::exchange(strategy_time_, {});
    figures_.add_compute(seconds((ready - step_begin_) - strategy_time));
    figures_.add_update(seconds(timer.update_time()));
    figures_.set_exchange(step_++, seconds(strategy_time + (step_end_ - ready) - timer.update_time()));
    return scope;
  }

 private:
  /// Adds the time of f to that of the strategy.
  template <class F>
  void measure(F const& f) {
    time_point const begin = steady_now();
    f();
    strategy_time_ += steady_now() - begin;
  }

  /// Measures the updates of a step.
  class timed_step final : public step_adaptor {
   public:
    using step_adaptor::step_adaptor;

    void update() override {
      time_point const begin = steady_now();
      step_adaptor::update();
      update_time_ += steady_now() - begin;
    }
    void update_local() override {
      time_point const begin = steady_now();
      step_adaptor::update_local();
      update_time_ += steady_now() - begin;
    }
    [[nodiscard]] duration update_time() const noexcept { return update_time_; }

   private:
    duration update_time_{};
  };

  nn::strategy& inner_;
  epoch_message figures_;
  time_point begin_ = steady_now();
  time_point epoch_begin_{};
  time_point step_begin_{};    // beginning of the current step
  time_point step_end_{};      // end of the last step
  time_point training_end_{};  // end of the epoch's last step and its weight averaging
  duration strategy_time_{};   // time of the strategy during this step's gradient
  std::size_t images_ = 0;     // images of this rank in this epoch
  double loss_ = 0;            // sum of the losses that this rank reports
  std::size_t step_ = 0;       // index of the step in this epoch, since the training began or was resumed
};

}  // namespace tutti::nn::detail::trainer
