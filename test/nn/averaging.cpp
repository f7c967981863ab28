// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <nn/plain_step.hpp>
#include <nn/synchronous_laws.hpp>
#include <support/counted_new.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>
#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/strategy/averaging/federated_averaging.hpp>
#include <tutti/nn/strategy/averaging/gossip.hpp>
#include <tutti/nn/strategy/averaging/local_sgd.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
using support::plain_step;
using support::random_numbers;

namespace {

constexpr std::size_t numbers = 101;

/// The results of f on all ranks.
template <class F>
auto on_all(tutti::rank_type size, F f) {
  auto results = tutti::spawn<tutti::loopback>(size, f);
  std::vector<std::decay_t<decltype(results[0].value())>> values;
  for (auto& result : results) {
    BOOST_REQUIRE_MESSAGE(result.has_value(), result.failure().text);
    values.push_back(std::move(result).value());
  }
  return values;
}

/// The weights after each step, one after the other, on ranks with `images(rank, step)` images.
template <class MakeStrategy, class Images>
std::vector<std::vector<float>> weights_after_steps(tutti::rank_type size, std::size_t steps, MakeStrategy make,
                                                    Images images) {
  return on_all(size, [=](auto& world) {
    auto strategy = make(world);
    auto weights = random_numbers(numbers, 1, world.rank());  // share makes them equal
    strategy.broadcast(weights);
    std::vector<float> result;
    for (std::size_t step = 0; step != steps; ++step) {
      std::size_t const local_images = strategy.participates() ? images(world.rank(), step) : 0;
      plain_step plain{weights, random_numbers(numbers + 2, 2 + world.rank(), step), local_images, 0.1F};
      strategy.step(plain);
      result.insert(result.end(), weights.begin(), weights.end());
    }
    return result;
  });
}

std::span<float const> weights_after(std::vector<float> const& rank, std::size_t step) {
  return std::span(rank).subspan(step * numbers, numbers);
}

nn::settings plain_settings() {
  auto settings = laws::training_settings();
  settings.momentum = 0;
  return settings;
}

nn::replica replica_of(tutti::rank_type rank, tutti::rank_type size, nn::settings const& settings) {
  nn::set_threads(1);
  auto const& data = laws::training_data();
  return nn::replica(nn::model<float>(nn::mlp<float>(784, laws::hidden_sizes, 10, nn::hidden_activation::relu),
                                      nn::replica::extra_scalars),
                     data.training, data.test, settings, rank, size);
}

/// A replica with batch normalisation.
nn::replica normalised_replica(tutti::rank_type rank, tutti::rank_type size, nn::settings const& settings) {
  nn::set_threads(1);
  auto const& data = laws::training_data();
  nn::layer_list<float> layers;
  layers.push_back(nn::batch_norm<float>(nn::image_shape{1, 28, 28}));
  layers.push_back(nn::dense<float, nn::relu>(784, 10));
  layers.push_back(nn::dense<float, nn::identity>(10, 10));
  return nn::replica(nn::model<float>(std::move(layers), nn::replica::extra_scalars), data.training, data.test,
                     settings, rank, size);
}

/// The losses of all steps, then the weights.
template <class MakeStrategy>
std::vector<std::vector<float>> trainings(tutti::rank_type size, nn::settings const& settings, MakeStrategy make) {
  (void)laws::training_data();
  return on_all(size, [&](auto& world) {
    auto model = replica_of(world.rank(), world.size(), settings);
    auto strategy = make(world);
    nn::history history;
    nn::train(model, strategy, history);
    std::vector<float> result;
    for (auto const& step : history.steps) {
      result.push_back(step.loss);
    }
    result.insert(result.end(), model.parameters().begin(), model.parameters().end());
    return result;
  });
}

double farthest(std::vector<float> const& a, std::vector<float> const& b) {
  double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i != std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  }
  return largest;
}

auto const synchronous = [](auto& world) { return nn::synchronous(world, tutti::ring{}); };

auto local_every(std::size_t interval) {
  return [=](auto& world) { return nn::local_sgd(world, tutti::binary_tree{}, interval); };
}

auto in_rounds(std::size_t steps, double participation) {
  return [=](auto& world) { return nn::federated_averaging(world, tutti::star{}, {steps, participation, 7}); };
}

}  // namespace

// Batches of 3 images, the last of 2: ranks from 3 on never have one, rank 2 has one fewer. A rank's statistics count
// only if images of its own have updated them.
BOOST_AUTO_TEST_CASE(ranks_without_images_change_no_statistics_losses_or_scores) {
  (void)laws::training_data();
  auto settings = plain_settings();
  settings.batch = 3;
  settings.epochs = 2;
  auto const outcome = [&](tutti::rank_type size, auto make) {
    return on_all(size, [&](auto& world) {
      auto model = normalised_replica(world.rank(), world.size(), settings);
      auto strategy = make(world);
      nn::history history;
      nn::train(model, strategy, history);
      std::vector<float> result(model.parameters().begin(), model.parameters().end());
      result.insert(result.end(), model.statistics().begin(), model.statistics().end());
      for (auto const& epoch : history.epochs) {
        for (double const figure : {epoch.training_loss, epoch.test_loss, epoch.test_accuracy}) {
          result.push_back(static_cast<float>(figure));
        }
      }
      return result;
    });
  };
  auto const expect_same = [&](char const* name, auto make) {
    auto const expected = outcome(3, make)[0];
    for (tutti::rank_type const size : {4U, 8U}) {
      for (auto const& rank : outcome(size, make)) {
        BOOST_TEST(farthest(rank, expected) < 1e-3, name << " over " << size << " ranks");
      }
    }
  };
  expect_same("synchronous", synchronous);
  expect_same("local_sgd, every step", local_every(1));
  expect_same("local_sgd, every 3 steps", local_every(3));
  expect_same("federated", in_rounds(2, 1));
}

BOOST_AUTO_TEST_CASE(statistics_of_other_ranks_weigh_as_many_images_as_they_have_seen) {
  auto model = normalised_replica(0, 2, plain_settings());
  std::size_t const count = model.statistics().size();
  nn::training_state state{.place = {},
                           .ranks = 3,
                           .parameters = {model.parameters().begin(), model.parameters().end()},
                           .optimizer = {model.optimizer_state().begin(), model.optimizer_state().end()},
                           .statistics = {},
                           .history = {}};
  auto const add = [&](float value, float images) {
    state.statistics.insert(state.statistics.end(), count, value);
    state.statistics.push_back(images);
  };
  add(1, 10);
  add(std::nanf(""), 0);
  add(4, 5);
  nn::restore(state, model);
  BOOST_TEST(std::ranges::all_of(model.statistics(), [](float s) { return std::abs(s - 2) < 1e-6F; }));
  BOOST_TEST(model.statistics_images() == 0U);  // equal on all ranks
  model.set_rank(2, 3);
  nn::restore(state, model);
  BOOST_TEST(std::ranges::all_of(model.statistics(), [](float s) { return s == 4; }));
  BOOST_TEST(model.statistics_images() == 5U);
}

// Neither the last batch, of 11 images, nor one of 32 is divisible by 3.
BOOST_AUTO_TEST_CASE(averaging_after_every_step_is_synchronous_training_up_to_rounding) {
  auto const expected = trainings(3, plain_settings(), synchronous);
  auto const other = trainings(3, plain_settings(), local_every(1));
  for (std::size_t r = 0; r != 3; ++r) {
    BOOST_TEST(farthest(other[r], expected[0]) < 2e-5);
    BOOST_TEST(bool(other[r] == other[0]));
  }
}

BOOST_AUTO_TEST_CASE(replicas_are_equal_bit_for_bit_after_each_mean_and_differ_between) {
  auto const images = [](tutti::rank_type rank, std::size_t step) { return rank + step % 2; };
  auto const weights = weights_after_steps(3, 8, local_every(3), images);
  for (std::size_t step = 0; step != 8; ++step) {
    for (std::size_t r = 1; r != 3; ++r) {
      bool const is_mean = step == 2 || step == 5;
      BOOST_TEST(std::ranges::equal(weights_after(weights[r], step), weights_after(weights[0], step)) == is_mean,
                 "step " << step);
    }
  }
}

BOOST_AUTO_TEST_CASE(ranks_weigh_as_many_images_as_they_have_seen_since_they_met) {
  auto const images = [](tutti::rank_type rank, std::size_t step) { return rank * (step + 1); };  // rank 0 has none
  auto const weights = weights_after_steps(3, 4, local_every(2), images);
  for (std::size_t const step : {1U, 3U}) {
    for (std::size_t i = 0; i != numbers; ++i) {
      double weight = 0;
      double sum = 0;
      for (tutti::rank_type r = 0; r != 3; ++r) {
        double const image_count = static_cast<double>(images(r, step - 1) + images(r, step));
        double const previous{weights_after(weights[r], step - 1)[i]};
        double const g{random_numbers(numbers + 2, 2 + r, step)[i]};
        weight += image_count;
        sum += image_count * (previous - (r == 0 ? 0 : 0.1 * g));
      }
      BOOST_TEST(std::abs(double{weights_after(weights[0], step)[i]} - sum / weight) < 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(united_replicas_have_equal_bits_and_resume_with_their_own) {
  auto const results = on_all(3, [](auto& world) {
    nn::local_sgd strategy(world, tutti::ring{}, 5);
    auto weights = random_numbers(numbers, 1, 0);
    strategy.broadcast(weights);
    plain_step plain{weights, random_numbers(numbers + 2, 2, world.rank())};
    strategy.step(plain);
    auto const local_weights = weights;
    strategy.average_weights(weights);
    auto result = weights;
    strategy.restore_weights(weights);
    result.push_back(weights == local_weights ? 1.0F : 0.0F);
    return result;
  });
  BOOST_TEST(bool(results[0] == results[1]));
  BOOST_TEST(bool(results[0] == results[2]));
  BOOST_TEST(results[0].back() == 1.0F);
}

BOOST_AUTO_TEST_CASE(training_ends_with_equal_weights_and_shows_the_loss_of_all_ranks) {
  for (std::size_t const interval : {4U, 1000U}) {
    (void)laws::training_data();
    auto const results = on_all(3, [=](auto& world) {
      auto model = laws::training_replica(world.rank(), world.size());
      nn::local_sgd strategy(world, tutti::ring{}, interval);
      nn::history history;
      nn::train(model, strategy, history);
      std::vector<float> result(model.parameters().begin(), model.parameters().end());
      for (auto const& epoch : history.epochs) {
        result.push_back(static_cast<float>(epoch.images));
        result.push_back(static_cast<float>(epoch.training_loss));
      }
      return result;
    });
    BOOST_TEST(bool(results[0] == results[1]));
    BOOST_TEST(bool(results[0] == results[2]));
    auto const figures = results[0].end() - 4;
    BOOST_TEST(figures[0] == static_cast<float>(laws::training_images));
    BOOST_TEST(figures[3] < figures[1]);
  }
}

BOOST_AUTO_TEST_CASE(steps_do_not_allocate_in_the_steady_state) {
  auto const results = on_all(3, [](auto& world) {
    nn::local_sgd strategy(world, tutti::ring{}, 2);
    auto weights = random_numbers(numbers, 1, 0);
    plain_step plain{weights, random_numbers(numbers + 2, 2, world.rank())};
    long allocations_before = 0;
    for (int step = 0; step != 20; ++step) {
      allocations_before = step == 10 ? support::allocations_of_this_thread : allocations_before;
      strategy.step(plain);
    }
    return support::allocations_of_this_thread - allocations_before;
  });
  for (long const allocations : results) {
    BOOST_TEST(allocations == 0);
  }
}

namespace {

/// Turns one rank's weights into NaNs at its third step.
template <class Strategy>
struct spoiled_strategy : Strategy {
  using Strategy::Strategy;

  nn::metrics_scope step(nn::training_step& step) override {
    auto const scope = Strategy::step(step);
    if (++steps == 3 && this->rank() == 1) {
      std::ranges::fill(step.parameters(), std::nanf(""));
    }
    return scope;
  }

  int steps = 0;
};

template <class Strategy>
std::vector<std::string> ends_of(auto... settings) {
  (void)laws::training_data();
  return on_all(3, [=](auto& world) {
    auto model = laws::training_replica(world.rank(), world.size());
    spoiled_strategy<Strategy> strategy(world, tutti::ring{}, settings...);
    try {
      nn::train(model, strategy);
    } catch (nn::divergence_error const& e) {
      return std::string(e.what()).substr(0, 33);
    }
    return std::string("no divergence");
  });
}

using members = tutti::communicator<tutti::loopback>;

}  // namespace

BOOST_AUTO_TEST_CASE(all_ranks_hear_of_a_divergence_when_they_meet) {
  for (auto const& end : ends_of<nn::local_sgd<members, tutti::ring>>(4U)) {
    BOOST_TEST(end == "the loss of step 3 is not finite:");
  }
  for (auto const& end : ends_of<nn::gossip<members, tutti::ring>>()) {
    BOOST_TEST(end == "the loss of epoch 1 is not finite");
  }
}

BOOST_AUTO_TEST_CASE(all_ranks_know_the_clients_of_a_round_and_all_are_clients_at_times) {
  auto const results = on_all(5, [](auto& world) {
    nn::federated_averaging strategy(world, tutti::star{}, {2, 0.4, 7});
    auto weights = random_numbers(numbers, 1, 0);
    strategy.broadcast(weights);
    std::vector<tutti::rank_type> result;
    for (std::size_t step = 0; step != 40; ++step) {
      result.insert(result.end(), strategy.clients().begin(), strategy.clients().end());
      plain_step plain{weights, random_numbers(numbers + 2, 2, world.rank()), strategy.participates() ? 1U : 0U};
      strategy.step(plain);
    }
    return result;
  });
  for (auto const& rank_clients : results) {
    BOOST_TEST(bool(rank_clients == results[0]));
  }
  BOOST_TEST(std::set(results[0].begin(), results[0].end()).size() == 5U);
  bool always_the_same = true;
  for (std::size_t step = 0; step != 40; step += 2) {
    std::span<tutti::rank_type const> const clients(results[0].data() + 2 * step, 2);
    BOOST_TEST(clients[0] != clients[1]);
    BOOST_TEST(
        std::ranges::equal(clients, std::span(results[0]).subspan(2 * step + 2, 2)));  // clients stay for two steps
    always_the_same = always_the_same && std::ranges::equal(clients, std::span(results[0]).first(2));
  }
  BOOST_TEST(!always_the_same);
}

BOOST_AUTO_TEST_CASE(only_clients_move_the_weights_and_all_have_them_after_the_round) {
  auto const images = [](tutti::rank_type rank, std::size_t) { return rank + 1; };
  auto const rank_weights = weights_after_steps(4, 6, in_rounds(2, 0.5), images);
  auto const rounds = on_all(4, [](auto& world) {  // the expected clients
    nn::federated_averaging strategy(world, tutti::star{}, {1, 0.5, 7});
    auto weights = random_numbers(numbers, 1, 0);
    std::vector<tutti::rank_type> result;
    for (std::size_t round = 0; round != 3; ++round) {
      result.insert(result.end(), strategy.clients().begin(), strategy.clients().end());
      plain_step plain{weights, random_numbers(numbers + 2, 2, world.rank()), 1};
      strategy.step(plain);
    }
    return result;
  });
  for (std::size_t round = 0; round != 3; ++round) {
    auto const clients = std::span(rounds[0]).subspan(2 * round, 2);
    std::vector<double> expected(numbers);
    double weight = 0;
    for (tutti::rank_type r = 0; r != 4; ++r) {
      bool const client = std::ranges::count(clients, r) != 0;
      auto const begin = round == 0 ? random_numbers(numbers, 1, 0)
                                    : std::vector(weights_after(rank_weights[r], 2 * round - 1).begin(),
                                                  weights_after(rank_weights[r], 2 * round - 1).end());
      BOOST_TEST(std::ranges::equal(begin, weights_after(rank_weights[r], 2 * round)) != client);
      BOOST_TEST(std::ranges::equal(weights_after(rank_weights[r], 2 * round + 1),
                                    weights_after(rank_weights[0], 2 * round + 1)));
      if (client) {
        double const image_count = r + 1.0;
        weight += image_count;
        auto const g = random_numbers(numbers + 2, 2 + r, 2 * round + 1);
        for (std::size_t i = 0; i != numbers; ++i) {
          expected[i] += image_count * (double{weights_after(rank_weights[r], 2 * round)[i]} - 0.1 * double{g[i]});
        }
      }
    }
    for (std::size_t i = 0; i != numbers; ++i) {
      BOOST_TEST(std::abs(double{weights_after(rank_weights[0], 2 * round + 1)[i]} - expected[i] / weight) < 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_round_of_one_step_with_all_ranks_is_one_step_with_a_large_batch) {
  auto const expected = trainings(3, plain_settings(), synchronous);
  auto const other = trainings(3, plain_settings(), in_rounds(1, 1));
  for (std::size_t r = 0; r != 3; ++r) {
    BOOST_TEST(farthest(other[r], expected[0]) < 2e-5);
  }
}

BOOST_AUTO_TEST_CASE(ranks_that_sit_out_compute_nothing_and_training_learns) {
  (void)laws::training_data();
  auto const results = on_all(4, [](auto& world) {
    auto settings = laws::training_settings();
    settings.epochs = 4;
    auto model = replica_of(world.rank(), world.size(), settings);
    nn::federated_averaging strategy(world, tutti::star{}, {7, 0.5, 3});  // a round is an epoch
    nn::history history;
    nn::train(model, strategy, history);
    std::vector<float> result;
    for (auto const& epoch : history.epochs) {
      result.push_back(static_cast<float>(epoch.images));
      result.push_back(static_cast<float>(epoch.training_loss));
    }
    return result;
  });
  for (std::size_t epoch = 0; epoch != 4; ++epoch) {
    BOOST_TEST(results[0][2 * epoch] > 0.4F * laws::training_images);
    BOOST_TEST(results[0][2 * epoch] < 0.6F * laws::training_images);
  }
  BOOST_TEST(results[0][7] < 0.97F * results[0][1]);
}
