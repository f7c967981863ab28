// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/detail/report/epoch_message.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/loss/batch_metrics.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::inline trainer {

[[nodiscard]] inline double seconds(duration d) noexcept {
  return static_cast<double>(d.count()) * 1e-9;
}

/// Measures the times of a training, as a wrapper of its strategy: computing, the update, and the exchange, which is
/// the rest of the strategy's work.
class stopwatch final : public strategy_adaptor {
 public:
  /// @param steps largest number of steps of an epoch
  stopwatch(nn::strategy& inner, std::size_t steps)
      : strategy_adaptor(inner), inner_(inner), figures_(steps, inner.rank(), inner.size()) {}

  void begin_epoch() noexcept {
    figures_.clear();
    step_ = 0;
    images_ = 0;
    loss_ = 0;
    epoch_began_ = since_ = steady_now();
  }
  /// Ends a step on this many images of this rank, with this mean loss, after its observers; the next one begins.
  void end_step(std::size_t images, float loss) noexcept {
    images_ += images;
    loss_ += images == 0 ? 0.0 : double{loss} * static_cast<double>(images);
    since_ = steady_now();
  }
  /// The seconds from the beginning of the training to the end of the last step.
  [[nodiscard]] double now() const noexcept { return seconds(done_ - begin_); }
  void end_training() noexcept { trained_ = steady_now(); }
  /// Sums times and batch metrics over all ranks. Collective.
  /// @param test sums over this rank's part of the test images
  /// @param tests number of test images of all ranks
  [[nodiscard]] epoch_result end_epoch(std::size_t epoch, batch_metrics<float> const& test, std::size_t tests) {
    figures_.set_training(images_, loss_);
    figures_.set_test(test);
    sum(figures_.numbers());
    time_point const tested = steady_now();
    auto const all = figures_.test();
    auto const count = static_cast<double>(tests);
    return {epoch,
            figures_.images(),
            double{all.loss} / count,
            double{all.correct} / count,
            seconds(trained_ - epoch_began_),
            seconds(tested - trained_),
            seconds(tested - begin_),
            figures_.split(),
            double{figures_.loss()} / static_cast<double>((std::max)(figures_.images(), std::size_t{1}))};
  }

  // The strategy's part of a step.
  [[nodiscard]] bool begin_on_device(any_device_message const& message) override {
    return inner_.begin_on_device(message);
  }
  [[nodiscard]] bool is_on_device() const noexcept override { return inner_.is_on_device(); }
  void on_enqueue(std::size_t first) override { inner_.on_enqueue(first); }
  void on_completion(std::size_t first) override {
    time_point const before = steady_now();
    inner_.on_completion(first);
    spent_ += steady_now() - before;
  }
  metrics_scope step(training_step& step) override {
    time_point const ready = steady_now();
    timed_step timed(step);
    metrics_scope const whose = inner_.step(timed);
    done_ = steady_now();
    auto const spent = std::exchange(spent_, {});
    figures_.add_compute(seconds((ready - since_) - spent));
    figures_.add_update(seconds(timed.spent()));
    figures_.set_exchange(step_++, seconds(spent + (done_ - ready) - timed.spent()));
    return whose;
  }

 private:
  /// Measures the updates of a step.
  class timed_step final : public step_adaptor {
   public:
    using step_adaptor::step_adaptor;

    void update() override {
      time_point const before = steady_now();
      step_adaptor::update();
      spent_ += steady_now() - before;
    }
    void update_local() override {
      time_point const before = steady_now();
      step_adaptor::update_local();
      spent_ += steady_now() - before;
    }
    [[nodiscard]] duration spent() const noexcept { return spent_; }

   private:
    duration spent_{};
  };

  nn::strategy& inner_;
  epoch_message figures_;
  time_point begin_ = steady_now();
  time_point epoch_began_{};
  time_point since_{};      // beginning of the current step
  time_point done_{};       // end of the last step
  time_point trained_{};    // end of the epoch's last step and its weight averaging
  duration spent_{};        // time of the strategy during this step's gradient
  std::size_t images_ = 0;  // images of this rank in this epoch
  double loss_ = 0;         // sum of the losses of these images
  std::size_t step_ = 0;    // index of the step in this epoch, since the training began or was resumed
};

}  // namespace tutti::nn::detail::trainer
