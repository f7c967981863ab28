// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/schedule/batch_plan.hpp>
#include <tutti/nn/schedule/learning_rate.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace nn = tutti::nn;
using nn::rate_schedule_kind;

namespace {

constexpr std::size_t per_epoch = 25;
constexpr std::size_t epochs = 12;

/// The rate of every step of 12 epochs of 25 steps.
std::vector<double> rates(nn::settings const& settings) {
  nn::any_schedule const schedule(settings);
  std::vector<double> result;
  for (std::size_t step = 0; step != epochs * per_epoch; ++step) {
    nn::moment const now{step, epochs * per_epoch, static_cast<double>(step) / per_epoch};
    result.push_back(double{schedule.rate(now)});
  }
  return result;
}

nn::settings ask(rate_schedule_kind kind) {
  nn::settings settings;
  settings.schedule = kind;
  settings.rate = 0.5F;
  settings.last_rate = 0.125F;
  settings.batch = 128;
  return settings;
}

/// Compares every rate with a formula of the step and of the fraction from the first step to the last one.
template <class Formula>
void check(nn::settings const& settings, Formula formula) {
  auto const step_rates = rates(settings);
  double worst = 0;
  for (std::size_t step = 0; step != step_rates.size(); ++step) {
    double const way = static_cast<double>(step) / static_cast<double>(step_rates.size() - 1);
    double const right = formula(step, way);
    worst = std::max(worst, std::abs(step_rates[step] - right) / right);
  }
  BOOST_TEST(worst < 1e-6, nn::name(settings.schedule));
}

}  // namespace

BOOST_AUTO_TEST_CASE(curves) {
  check(ask(rate_schedule_kind::constant), [](std::size_t, double) { return 0.5; });
  check(ask(rate_schedule_kind::growing_batch), [](std::size_t, double) { return 0.5; });
  check(ask(rate_schedule_kind::linear), [](std::size_t, double way) { return 0.5 - 0.375 * way; });
  check(ask(rate_schedule_kind::cosine),
        [](std::size_t, double way) { return 0.125 + 0.1875 * (1 + std::cos(way * std::numbers::pi)); });
  auto steps = ask(rate_schedule_kind::step);
  steps.changes = {{3, 6, 9}, 4};
  check(steps, [](std::size_t step, double) { return 0.5 / std::pow(4.0, step / (3 * per_epoch)); });
  steps.schedule = rate_schedule_kind::growing_batch;  // 4 is the batch's factor, not the rate's
  check(steps, [](std::size_t, double) { return 0.5; });
  steps.decay = 5;
  check(steps, [](std::size_t step, double) { return 0.5 / std::pow(5.0, step / (3 * per_epoch)); });
}

BOOST_AUTO_TEST_CASE(curves_reach_their_last_rate_at_the_last_step) {
  for (auto const kind : {rate_schedule_kind::linear, rate_schedule_kind::cosine}) {
    auto const step_rates = rates(ask(kind));
    BOOST_TEST(step_rates.front() == 0.5);
    BOOST_TEST(step_rates.back() == 0.125);
    BOOST_TEST(double{nn::any_schedule(ask(kind)).rate({0, 1, 0})} == 0.5);  // a training of one step
  }
}

BOOST_AUTO_TEST_CASE(rates_grow_with_the_batch) {
  for (auto const kind : {rate_schedule_kind::constant, rate_schedule_kind::linear, rate_schedule_kind::cosine}) {
    auto settings = ask(kind);
    auto const small = rates(settings);
    settings.rate_is_for = 32;
    auto const large = rates(settings);
    for (std::size_t step = 0; step != small.size(); ++step) {
      BOOST_TEST(large[step] == 4 * small[step]);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_warm_up_goes_from_the_small_batchs_rate_to_the_large_ones) {
  auto settings = ask(rate_schedule_kind::constant);
  settings.rate_is_for = 16;  // k = 8
  settings.warm_up = 5;
  auto const step_rates = rates(settings);
  BOOST_TEST(step_rates[0] == 0.5);
  for (std::size_t step = 1; step != 5 * per_epoch; ++step) {  // equal increments
    BOOST_TEST(std::abs(step_rates[step] - step_rates[step - 1] - 3.5 / (5 * per_epoch)) < 1e-6);
  }
  for (std::size_t step = 5 * per_epoch; step != step_rates.size(); ++step) {
    BOOST_TEST(step_rates[step] == 4.0);
  }
  settings.rate_is_for = 0;  // no small batch is known: the rate starts from 0
  BOOST_TEST(rates(settings)[0] == 0.0);
  BOOST_TEST(rates(settings)[5 * per_epoch] == 0.5);
  settings.rate_is_for = 256;  // equal to this batch: no warm-up
  BOOST_TEST(rates(settings)[0] == 0.25);
}

BOOST_AUTO_TEST_CASE(after_a_warm_up_everything_is_as_without) {
  for (auto const kind : {rate_schedule_kind::linear, rate_schedule_kind::cosine, rate_schedule_kind::step}) {
    auto settings = ask(kind);
    settings.changes = {{2, 7}, 10};
    auto const cold = rates(settings);
    settings.warm_up = 1.5;
    auto const warm = rates(settings);
    for (std::size_t step = 0; step != cold.size(); ++step) {
      double const now = static_cast<double>(step) / per_epoch;
      BOOST_TEST((now < 1.5 ? warm[step] < cold[step] : warm[step] == cold[step]));
    }
  }
}

BOOST_AUTO_TEST_CASE(batches_grow_where_rates_would_fall) {
  auto settings = ask(rate_schedule_kind::growing_batch);
  settings.epochs = epochs;
  settings.changes = {{3, 6, 9}, 4};
  nn::batch_plan const plan(settings, 5000);
  std::size_t steps = 0;
  for (std::size_t epoch = 0; epoch != epochs; ++epoch) {
    std::size_t const size = epoch < 3 ? 128 : epoch < 6 ? 512 : epoch < 9 ? 2048 : 5000;  // the whole data set
    BOOST_TEST(plan.size(epoch) == size);
    BOOST_TEST(plan.batches(epoch) == (5000 + size - 1) / size);
    steps += plan.batches(epoch);
  }
  BOOST_TEST(plan.steps() == steps);
  BOOST_TEST(plan.largest() == 5000U);
  settings.epochs = 6;  // milestones after the last epoch do not count
  BOOST_TEST(nn::batch_plan(settings, 5000).largest() == 512U);
  for (auto const kind : {rate_schedule_kind::linear, rate_schedule_kind::step}) {
    settings.schedule = kind;
    BOOST_TEST(nn::batch_plan(settings, 5000).largest() == 128U);
    BOOST_TEST(nn::batch_plan(settings, 5000).steps() == 6 * 40U);
  }
  BOOST_TEST(nn::batch_plan(settings, 100).size(0) == 100U);
}

BOOST_AUTO_TEST_CASE(steps_and_positions_are_those_of_a_count_epoch_by_epoch) {
  for (auto const& milestones : std::vector<std::vector<std::size_t>>{{}, {3}, {6, 3, 3, 9}, {0, 1, 2}, {11, 40}}) {
    auto settings = ask(rate_schedule_kind::growing_batch);
    settings.epochs = epochs;
    settings.changes = {milestones, 2};
    nn::batch_plan const plan(settings, 1000);
    std::size_t step = 0;
    std::size_t smallest = 1000;
    for (std::size_t epoch = 0; epoch != 2 * epochs; ++epoch) {
      BOOST_TEST(plan.steps_before(epoch) == step);
      for (std::size_t batch = 0; batch != plan.batches(epoch); ++batch, ++step) {
        BOOST_TEST(plan.position(step).epoch == epoch);
        BOOST_TEST(plan.position(step).batch == batch);
      }
      std::size_t const last_batch = 1000 - (plan.batches(epoch) - 1) * plan.size(epoch);
      smallest = epoch < epochs ? std::min(smallest, last_batch) : smallest;
    }
    BOOST_TEST(plan.smallest() == smallest);
  }
}

BOOST_AUTO_TEST_CASE(batches_do_not_shrink) {
  auto settings = ask(rate_schedule_kind::growing_batch);
  settings.changes = {{1}, 0.5};
  BOOST_CHECK_THROW(nn::batch_plan(settings, 100), tutti::precondition_error);
}
