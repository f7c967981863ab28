// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/nn/detail/replica_step.hpp>
#include <tutti/nn/detail/report/epoch_message.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/report/metrics.hpp>
#include <tutti/nn/schedule/learning_rate.hpp>
#include <tutti/nn/trainable.hpp>

#include <algorithm>
#include <array>
#include <cmath>
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

/// Compiles for strategies that are variables, and for what is no strategy; else the first error names what is wrong.
template <class Strategy>
constexpr void expect_variable() {
  using given = std::remove_reference_t<Strategy>;
  using variable = std::remove_const_t<given>;
  static_assert(strategy<given> || !strategy<variable>,
                "this strategy is const, and its members are not: give one that is not const");
  static_assert(std::is_lvalue_reference_v<Strategy> || !strategy<variable>,
                "this strategy is a temporary: give a variable");
}

/// Strategies, and what lacks some of a strategy's members, but none of those that tell it from other things.
template <class S>
concept nearly_strategy = requires(S& s, std::span<float> numbers) {
  s.sum(numbers);
  s.share(numbers);
};

}  // namespace detail

/// The numbers grew beyond all bounds. Every rank finds out at the same step: at once where the loss is that of
/// all ranks, else when all meet, at the end of the epoch at the latest.
class diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

[[nodiscard]] inline double seconds(duration d) noexcept {
  return static_cast<double>(d.count()) * 1e-9;
}

/// @throws diverged if the loss of that step or epoch is not finite
inline void expect_finite(float loss, char const* unit, std::size_t number) {
  if (!std::isfinite(loss)) {
    throw diverged(std::string("the loss of ") + unit + " " + std::to_string(number) +
                   " is not finite: the training diverged; try a lower learning rate");
  }
}

/// This rank's share of the test scores: of a reproducible replica the first rank's is all, and the others' nothing.
template <class Replica, class Strategy>
[[nodiscard]] score<float> tested(Replica& model, Strategy& ranks) {
  auto result = model.test();
  if constexpr (adds_accumulators<Strategy>) {
    if (model.settings().reproducible) {
      std::array<float, 2> numbers;
      ranks.sum(model.test_sums(), numbers);
      result = ranks.rank() == 0 ? score<float>{numbers[0], numbers[1]} : score<float>{};
    }
  }
  return result;
}

/// Replaces what layers remember by its mean over ranks, in which a rank weighs the images that it has trained on since
/// the last epoch. A rank without any remembers what all remembered then, and weighs nothing.
template <class Replica, class Strategy>
void unite_statistics(Replica& model, Strategy& ranks) {
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

/// Passes on what is complete, and measures how long the strategy takes.
template <class Strategy>
struct timed_listener {
  void completed(std::size_t first) {
    time_point const before = steady_now();
    ranks.completed(first);
    spent += steady_now() - before;
  }
  void enqueued(std::size_t first)
    requires requires(Strategy& s) { s.enqueued(first); }
  {
    ranks.enqueued(first);
  }

  Strategy& ranks;
  duration spent{};
};

/// Says where the gradients will be: on the device, if the strategy sums them there.
template <class Replica, class Strategy>
void begin_step(Replica& model, Strategy& ranks) {
  if constexpr (requires { ranks.begin(model.on_device()); }) {
    ranks.begin(model.on_device());
  } else {
    ranks.begin(model.message());
  }
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
template <trainable Replica, strategy Strategy, observer<Replica>... Observers>
void train(Replica& model, Strategy& ranks, Observers&... observers) {
  settings const& settings = model.settings();
  expects(!settings.reproducible || adds_accumulators<Strategy>,
          "train: a reproducible replica needs a strategy that adds accumulators; use the strategy reproducible, or "
          "set settings::reproducible to false");
  expects(momentum_of(ranks) == (settings.momentum_corrected ? settings.momentum : 0),
          "train: the strategy keeps a momentum of ", momentum_of(ranks), ", and the settings ask for one of ",
          settings.momentum_corrected ? settings.momentum : 0,
          " before gradients are summed; give feedback(correction_of(settings)) to compressed(gathered), or "
          "with another strategy set momentum_corrected to false");
  any_schedule const rates(settings);
  moment now;
  now.steps = model.plan().steps();
  detail::epoch_message figures(model.plan().batches(0), ranks.rank(), ranks.size());  // no epoch has more
  expects(ranks.equal() || !settings.synchronised_statistics,
          "train: statistics of all ranks need the same weights on all ranks; choose a synchronous strategy, or set "
          "synchronised_statistics to false");
  if (model.place() == training_place{}) {
    ranks.share(model.parameters());
  }
  if (settings.synchronised_statistics) {
    model.synchronise(rank_sum<float>(ranks));
  }

  time_point const begin = steady_now();
  for (std::size_t epoch = model.place().epoch; epoch != settings.epochs; ++epoch) {
    time_point const epoch_begin = steady_now();
    figures.clear();
    model.start(epoch);
    std::size_t const batches = model.batches();
    std::size_t images = 0;  // of this rank
    double loss = 0;
    now.step = model.plan().steps_before(epoch) + model.place().batch;
    time_point since = epoch_begin;
    for (std::size_t b = model.place().batch; b != batches; ++b, ++now.step) {
      detail::timed_listener<Strategy> listener{ranks};
      std::size_t const own = ranks.takes_part() ? model.shard_size(b) : 0;
      if (ranks.takes_part()) {
        detail::begin_step(model, ranks);
        model.gradient(b, listener);
      }
      time_point const ready = steady_now();
      now.epoch = static_cast<double>(epoch) + static_cast<double>(b) / static_cast<double>(batches);
      float const rate = rates.rate(now);
      detail::replica_step step(model, b, own, rate);
      score_of const scope = ranks.step(step);
      model.end_step();
      time_point const done = steady_now();
      figures.add_compute(detail::seconds((ready - since) - listener.spent));
      figures.add_update(detail::seconds(step.spent()));
      figures.set_exchange(b, detail::seconds(listener.spent + (done - ready) - step.spent()));
      auto const batch = model.batch_score();
      bool const scored = own != 0 || scope == score_of::all_ranks;
      if (scored) {
        if (scope == score_of::all_ranks) {
          detail::expect_finite(batch.loss, "step", now.step);
        }
        images += own;
        loss += own == 0 ? 0.0 : double{batch.loss} * static_cast<double>(own);
      }
      [[maybe_unused]] step_result const result{
          epoch, b, model.batch_size(b), batch.loss, batch.correct, detail::seconds(done - begin), rate, 0, 0};
      (detail::tell_of_step(observers, result, std::as_const(model), scored), ...);
      since = steady_now();
    }
    detail::unite_statistics(model, ranks);
    ranks.unite(model.parameters());  // a rank that had little to do waits here for those that had more
    time_point const trained = steady_now();
    figures.set_training(images, loss);
    figures.set_test(detail::tested(model, ranks));
    ranks.sum(figures.numbers());
    time_point const tested = steady_now();
    detail::expect_finite(figures.loss(), "epoch", epoch + 1);
    auto const test = figures.test();
    auto const tests = static_cast<double>(model.test_size());
    model.end_epoch();
    model.statistics_images(0);  // not before: if a rank is lost, the survivors may make the mean once more
    [[maybe_unused]] epoch_result const result{
        epoch,
        figures.images(),
        double{test.loss} / tests,
        double{test.correct} / tests,
        detail::seconds(trained - epoch_begin),
        detail::seconds(tested - trained),
        detail::seconds(tested - begin),
        figures.split(),
        double{figures.loss()} / static_cast<double>(std::max<std::size_t>(figures.images(), 1))};
    if (epoch + 1 != settings.epochs) {
      ranks.resume(model.parameters());
    }
    (observers.epoch(result), ...);
  }
}

/// Does not compile: what is wrong with the strategy or an observer is in the first line of the error.
template <trainable Replica, class Strategy, class... Observers>
  requires detail::nearly_strategy<std::remove_cvref_t<Strategy>> &&
           (!(strategy<std::remove_reference_t<Strategy>> && std::is_lvalue_reference_v<Strategy> &&
              ((observer<std::remove_reference_t<Observers>, Replica> &&
                std::is_lvalue_reference_v<Observers>)&&...))) &&
           (std::is_class_v<std::remove_cvref_t<Observers>> && ...)
void train(Replica&, Strategy&&, Observers&&...) {
  detail::expect_strategy<std::remove_cvref_t<Strategy>>();
  detail::expect_variable<Strategy>();
  (detail::expect_observer<Observers, Replica>(), ...);
}

/// Does not compile: what an object in a strategy's place lacks is in the first line of the error. A function of this
/// name in the program itself is the better match for its own arguments.
template <trainable Replica, class Strategy, class... Observers>
  requires std::is_class_v<Strategy> && (!detail::nearly_strategy<Strategy>) && (observer<Observers, Replica> && ...)
void train(Replica&, Strategy const&, Observers const&...) {
  detail::expect_strategy<Strategy>();
}

}  // namespace tutti::nn
