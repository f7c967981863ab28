// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/replica.hpp>

#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <tuple>
#include <type_traits>

namespace tutti::inline v0_1_0::nn {

/// Watches a training. `step` is called after every step to which this rank contributed images, or whose loss is that
/// of all ranks; `epoch` after every test. The optional `after_step(model)` is called on every rank after every step,
/// with images or without, so it may be collective.
template <class O>
concept observer = requires(O& o, step_result const& step, epoch_result const& epoch, replica const& model) {
  o.step(step, model);
  o.epoch(epoch);
};

namespace detail {

/// Compiles for observers that `train` takes; otherwise the first error names the defect. Observer is a reference for
/// a variable.
template <class Observer>
constexpr void expect_observer() {
  using type = std::remove_reference_t<Observer>;
  using variable = std::remove_const_t<type>;
  static_assert(
      requires(variable& o, step_result const& step, replica const& model) { o.step(step, model); },
      "this observer lacks: void step(tutti::nn::step_result const&, tutti::nn::replica const& model)");
  static_assert(
      requires(variable& o, epoch_result const& epoch) { o.epoch(epoch); },
      "this observer lacks: void epoch(tutti::nn::epoch_result const&)");
  static_assert(observer<type> || !observer<variable>,
                "this observer is const, and its members are not: give one that is not const");
  static_assert(std::is_lvalue_reference_v<Observer> || !observer<variable>,
                "this observer is a temporary, which is gone with all that it saw: give a variable");
}

/// Compiles for strategies that are variables; otherwise the first error names the defect.
template <class Strategy>
constexpr void expect_variable() {
  using type = std::remove_reference_t<Strategy>;
  static_assert(!std::is_const_v<type>, "this strategy is const, and its members are not: give one that is not const");
  static_assert(std::is_lvalue_reference_v<Strategy>, "this strategy is a temporary: give a variable");
}

/// A strategy, const or temporary ones included.
template <class S>
concept any_of_strategy = std::derived_from<std::remove_cvref_t<S>, nn::strategy>;

}  // namespace detail

/// The loss is no longer finite. Every rank throws at the same step: immediately where the loss is that of all ranks,
/// else at the next meeting of all, at the end of the epoch at the latest. The test of an epoch tells of weights that
/// its last step has spoilt.
class divergence_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// Calls all observers of a training.
class observers {
 public:
  observers() = default;
  observers(observers const&) = delete;
  observers& operator=(observers const&) = delete;
  virtual ~observers() = default;

  /// @param has_metrics true if this rank contributed to the step's loss
  virtual void step(step_result const& result, replica const& model, bool has_metrics) = 0;
  virtual void epoch(epoch_result const& result) = 0;
};

template <class... Observers>
class observers_of final : public observers {
 public:
  explicit observers_of(Observers&... references) noexcept : observers_(references...) {}

  void step(step_result const& result, replica const& model, bool has_metrics) override {
    std::apply([&](auto&... observer) { (notify(observer, result, model, has_metrics), ...); }, observers_);
  }
  void epoch(epoch_result const& result) override {
    std::apply([&](auto&... observer) { (observer.epoch(result), ...); }, observers_);
  }

 private:
  template <class Observer>
  static void notify(Observer& observer, step_result const& result, replica const& model, bool has_metrics) {
    if (has_metrics) {
      observer.step(result, model);
    }
    if constexpr (requires { observer.after_step(model); }) {
      observer.after_step(model);
    } else {
      static_assert(
          !requires { &Observer::after_step; },
          "this observer's after_step must be: void after_step(tutti::nn::replica const&)");
    }
  }

  std::tuple<Observers&...> observers_;
};

/// @throws divergence_error if the loss of this step, epoch or test is not finite
TUTTI_DECL void expect_finite(double loss, char const* unit, std::size_t number);

TUTTI_DECL void train(replica& model, nn::strategy& strategy, observers& observer_list);

}  // namespace detail

/// Trains the replicas of one model, one per rank of the strategy. Every rank calls this with a replica that differs
/// only in its rank. All ranks end with the same weights, bit for bit. Training continues at the replicas' position:
/// at the first batch, or where a checkpoint or a fault left them.
///
/// One step, in order:
/// 1. `strategy::begin` receives the gradient buffer.
/// 2. `replica::gradient` runs forward, the loss and backward on the rank's images, and passes final parts of the
///    buffer to `strategy::on_completion`.
/// 3. `strategy::step` completes the exchange, and calls `update`, in which the optimizer updates the weights.
/// 4. The observers are called.
///
/// All of the strategy's work except the update counts as communication, not as computing.
///
/// Replicas that have begun keep their weights; others begin with those of rank 0.
///
/// If replicas differ between steps, the test of an epoch uses the averaged weights; then ranks continue with
/// their own. After the last epoch they keep the average.
///
/// Cost: one `broadcast` of the weights at the beginning, the strategy's cost in each step, one `average_weights`
/// (weight averaging) and one small `sum` per epoch for the test and the times. Layers with statistics add one per
/// epoch, and two per layer and step if these are synchronised over ranks. No allocation within a step except in
/// observers.
/// @pre synchronised statistics only where replicas stay equal
/// @throws divergence_error if the loss is not finite; exceptions of the strategy
template <observer... Observers>
void train(replica& model, nn::strategy& strategy, Observers&... observers) {
  detail::observers_of<Observers...> observer_list(observers...);
  detail::train(model, strategy, observer_list);
}

/// Does not compile: the first line of the error says what is wrong with the strategy or an observer.
template <detail::any_of_strategy Strategy, class... Observers>
  requires(!(std::is_lvalue_reference_v<Strategy> && !std::is_const_v<std::remove_reference_t<Strategy>> &&
             ((observer<std::remove_reference_t<Observers>> && std::is_lvalue_reference_v<Observers>)&&...))) &&
          (std::is_class_v<std::remove_cvref_t<Observers>> && ...)
void train(replica&, Strategy&&, Observers&&...) {
  detail::expect_variable<Strategy>();
  (detail::expect_observer<Observers>(), ...);
}

/// Does not compile: the argument in the strategy's place is no strategy. A function of this name in the program
/// itself is the better match for its own arguments.
template <class Strategy, class... Observers>
  requires std::is_class_v<Strategy> && (!detail::any_of_strategy<Strategy>) && (observer<Observers> && ...)
void train(replica&, Strategy const&, Observers const&...) {
  static_assert(detail::any_of_strategy<Strategy>,
                "this is no strategy: give one, such as tutti::nn::synchronous ranks(world), or derive a class of your "
                "own from tutti::nn::strategy");
}

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/trainer.ipp>
#endif
