// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/replica_step.hpp>
#include <tutti/nn/detail/stopwatch.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/report/metrics.hpp>
#include <tutti/nn/schedule/learning_rate.hpp>
#include <tutti/nn/trainable.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Watches a training. `step` is called after every step in which this rank took part with images, or whose loss
/// is that of all ranks; `epoch` after every test. `stepped(model)`, if there is one, is called on every rank after
/// every step, whether the rank took part or not: there all ranks can do something together.
template <class O, class Replica>
concept observer = requires(O& o, step_result const& step, epoch_result const& epoch, Replica const& model) {
  o.step(step, model);
  o.epoch(epoch);
};

namespace detail {

/// Compiles for what `train` takes as an observer; else the first error names what is wrong. Observer is a reference
/// where a variable was given.
template <class Observer, class Replica>
constexpr void expect_observer() {
  using given = std::remove_reference_t<Observer>;
  using variable = std::remove_const_t<given>;
  static_assert(
      requires(variable& o, step_result const& step, Replica const& model) { o.step(step, model); },
      "this observer lacks: void step(tutti::nn::step_result const&, Replica const& model)");
  static_assert(
      requires(variable& o, epoch_result const& epoch) { o.epoch(epoch); },
      "this observer lacks: void epoch(tutti::nn::epoch_result const&)");
  static_assert(observer<given, Replica> || !observer<variable, Replica>,
                "this observer is const, and its members are not: give one that is not const");
  static_assert(std::is_lvalue_reference_v<Observer> || !observer<variable, Replica>,
                "this observer is a temporary, which is gone with all that it saw: give a variable");
}

/// Compiles for strategies that are variables; else the first error names what is wrong.
template <class Strategy>
constexpr void expect_variable() {
  using given = std::remove_reference_t<Strategy>;
  static_assert(!std::is_const_v<given>, "this strategy is const, and its members are not: give one that is not const");
  static_assert(std::is_lvalue_reference_v<Strategy>, "this strategy is a temporary: give a variable");
}

/// Strategies, or what is const of them, or gone after the call.
template <class S>
concept any_of_strategy = std::derived_from<std::remove_cvref_t<S>, strategy>;

}  // namespace detail

/// The numbers grew beyond all bounds. Every rank finds out at the same step: at once where the loss is that of
/// all ranks, else when all meet, at the end of the epoch at the latest.
class diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// @throws diverged if the loss of that step or epoch is not finite
inline void expect_finite(float loss, char const* unit, std::size_t number) {
  if (!std::isfinite(loss)) {
    throw diverged(std::string("the loss of ") + unit + " " + std::to_string(number) +
                   " is not finite: the training diverged; try a lower learning rate");
  }
}

/// This rank's share of the test scores: of a reproducible replica the first rank's is all, and the others' nothing.
template <class Replica>
[[nodiscard]] score<float> tested(Replica& model, strategy& ranks) {
  auto result = model.test();
  if (model.settings().reproducible) {
    std::array<float, 2> numbers;
    ranks.sum_accumulators(model.test_sums(), numbers);
    result = ranks.rank() == 0 ? score<float>{numbers[0], numbers[1]} : score<float>{};
  }
  return result;
}

/// Replaces what layers remember by its mean over ranks, in which a rank weighs the images that it has trained on since
/// the last epoch. A rank without any remembers what all remembered then, and weighs nothing.
template <class Replica>
void unite_statistics(Replica& model, strategy& ranks) {
  auto const statistics = model.statistics();
  if (statistics.empty()) {
    return;
  }
  auto const images = static_cast<float>(model.statistics_images());
  std::vector<float> sums(statistics.size());  // a sum that fails must not spoil them
  std::ranges::transform(statistics, sums.begin(), [&](float value) { return images > 0 ? images * value : 0.0F; });
  sums.push_back(images);
  ranks.sum(sums);
  if (float const all = sums.back(); all > 0) {
    std::ranges::transform(std::span(sums).first(statistics.size()), statistics.begin(),
                           [&](float sum) { return sum / all; });
  }
}

template <class Observer, class Replica>
void tell_of_step(Observer& to, step_result const& step, Replica const& model, bool scored) {
  if (scored) {
    to.step(step, model);
  }
  if constexpr (requires { to.stepped(model); }) {
    to.stepped(model);
  }
}

/// Tells a strategy where the gradients will be: on the device, if it sums them there.
template <class Replica>
void begin_step(Replica& model, strategy& ranks) {
  if constexpr (requires { model.on_device(); }) {
    if (ranks.begin_on_device(model.on_device())) {
      return;
    }
  }
  ranks.begin(model.message());
}

/// The point in time of a training that its learning rate depends on.
template <class Replica>
[[nodiscard]] moment moment_of(Replica const& model, std::size_t epoch, std::size_t batch) {
  moment result;
  result.steps = model.plan().steps();
  result.step = model.plan().steps_before(epoch) + batch;
  result.epoch = static_cast<double>(epoch) + static_cast<double>(batch) / static_cast<double>(model.batches());
  return result;
}

/// @throws precondition_error for a strategy that cannot do what the settings ask for
inline void expect_fit(settings const& settings, strategy const& ranks) {
  expects(!settings.reproducible || ranks.adds_accumulators(),
          "train: a reproducible replica needs a strategy that adds accumulators; use the strategy reproducible, or "
          "set settings::reproducible to false");
  expects(ranks.momentum() == (settings.momentum_corrected ? settings.momentum : 0),
          "train: the strategy keeps a momentum of ", ranks.momentum(), ", and the settings ask for one of ",
          settings.momentum_corrected ? settings.momentum : 0,
          " before gradients are summed; give feedback(correction_of(settings)) to compressed(gathered), or "
          "with another strategy set momentum_corrected to false");
  expects(ranks.equal() || !settings.synchronised_statistics,
          "train: statistics of all ranks need the same weights on all ranks; choose a synchronous strategy, or set "
          "synchronised_statistics to false");
}

}  // namespace detail

/// Trains the replicas of one model, one per rank of the strategy: every rank calls this with a
/// replica that differs in its rank alone. All ranks end with the same weights, bit for bit. It goes on from
/// where the replicas are: at the first batch of all, or where a checkpoint or a fault left them.
///
/// Each step's gradients are the strategy's as soon as they are computed, and the strategy makes the step. What it
/// does with gradients while others are computed is counted as communication, not as computing, as is all of the
/// step but the update.
///
/// Replicas that have begun keep their weights; others begin with those of rank 0.
///
/// Where replicas differ between steps, each epoch's test is that of the weights that the strategy unites them
/// to, which does not touch the training itself: ranks go on with their own. After the last epoch they do not.
///
/// Cost: one `share` of the weights at the beginning, what the strategy does in each step, one `unite` and one small
/// `sum` per epoch for the test and the times; where layers keep statistics, one more per epoch for those, and two per
/// such layer and step where they are of all ranks. No allocation within a step but what observers do.
/// @pre synchronised statistics only where replicas stay equal
/// @throws diverged when the loss is not finite; what the strategy throws
template <trainable Replica, observer<Replica>... Observers>
void train(Replica& model, strategy& ranks, Observers&... observers) {
  settings const& settings = model.settings();
  detail::expect_fit(settings, ranks);
  any_schedule const rates(settings);
  if (model.place() == training_place{}) {
    ranks.share(model.parameters());
  }
  if (settings.synchronised_statistics) {
    model.synchronise(rank_sum<float>(ranks));
  }
  detail::stopwatch timed(ranks, model.plan().batches(0));  // no epoch has more
  for (std::size_t epoch = model.place().epoch; epoch != settings.epochs; ++epoch) {
    timed.begin_epoch();
    model.start(epoch);
    std::size_t images = 0;  // of this rank
    double loss = 0;
    for (std::size_t b = model.place().batch; b != model.batches(); ++b) {
      std::size_t const own = ranks.takes_part() ? model.shard_size(b) : 0;
      if (ranks.takes_part()) {
        detail::begin_step(model, timed);
        model.gradient(b, timed);
      }
      auto const now = detail::moment_of(model, epoch, b);
      detail::replica_step step(model, b, own, rates.rate(now));
      bool const of_all = timed.step(step) == score_of::all_ranks;
      model.end_step();
      auto const batch = model.batch_score();
      if (of_all) {
        detail::expect_finite(batch.loss, "step", now.step);
      }
      images += own;
      loss += own == 0 ? 0.0 : double{batch.loss} * static_cast<double>(own);
      [[maybe_unused]] step_result const result{
          epoch, b, model.batch_size(b), batch.loss, batch.correct, timed.now(), step.learning_rate(), 0, 0};
      (detail::tell_of_step(observers, result, std::as_const(model), own != 0 || of_all), ...);
      timed.begin_step();
    }
    detail::unite_statistics(model, ranks);
    ranks.unite(model.parameters());  // a rank that had little to do waits here for those that had more
    timed.end_training();
    auto result = timed.end_epoch(images, loss, detail::tested(model, ranks), model.test_size());
    detail::expect_finite(static_cast<float>(result.training_loss), "epoch", epoch + 1);
    result.epoch = epoch;
    model.end_epoch();
    model.statistics_images(0);  // not before: if a rank is lost, the survivors may make the mean once more
    if (epoch + 1 != settings.epochs) {
      ranks.resume(model.parameters());
    }
    (observers.epoch(result), ...);
  }
}

/// Does not compile: what is wrong with the strategy or an observer is in the first line of the error.
template <trainable Replica, detail::any_of_strategy Strategy, class... Observers>
  requires(!(std::is_lvalue_reference_v<Strategy> && !std::is_const_v<std::remove_reference_t<Strategy>> &&
             ((observer<std::remove_reference_t<Observers>, Replica> &&
               std::is_lvalue_reference_v<Observers>)&&...))) &&
          (std::is_class_v<std::remove_cvref_t<Observers>> && ...)
void train(Replica&, Strategy&&, Observers&&...) {
  detail::expect_variable<Strategy>();
  (detail::expect_observer<Observers, Replica>(), ...);
}

/// Does not compile: an object in a strategy's place is none. A function of this name in the program itself is the
/// better match for its own arguments.
template <trainable Replica, class Strategy, class... Observers>
  requires std::is_class_v<Strategy> && (!detail::any_of_strategy<Strategy>) && (observer<Observers, Replica> && ...)
void train(Replica&, Strategy const&, Observers const&...) {
  static_assert(detail::any_of_strategy<Strategy>,
                "this is no strategy: give one, such as tutti::nn::synchronous ranks(world), or derive a class of your "
                "own from tutti::nn::strategy");
}

}  // namespace tutti::nn
