// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/compression/feedback.hpp>
#include <tutti/nn/compression/selection.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/strategy/averaging/local_sgd.hpp>
#include <tutti/nn/strategy/compressed/compressed_synchronous.hpp>
#include <tutti/nn/strategy/compressed/quantised_sum.hpp>
#include <tutti/nn/strategy/compressed/sparse_sum.hpp>
#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/strategy/synchronous/fixed_point.hpp>
#include <tutti/nn/strategy/synchronous/reproducible.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/nn/zoo/stack.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Law: a training with any optimizer and regularisation gives the same results on any number of ranks, with images on
/// all of them or on some.
namespace {

namespace nn = tutti::nn;
using tutti::rank_type;

constexpr std::array<std::size_t, 1> hidden_sizes{16};

/// 24 training images in batches of 5, the last of 4, and 7 for the test: of 8 ranks, three have no image of a batch.
nn::data_pair const& data() {
  static nn::data_pair const images{nn::digits(24, 1), nn::digits(7, 1, 1000)};
  return images;
}

nn::layer_list<float> perceptron() {
  return nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::tanh, 0.25);
}

nn::layer_list<float> normalised_network() {
  nn::stack<float> layers(data().training.shape);
  layers.add_normalised<nn::relu>(4, {3, 2, 1}).add_normalised<nn::relu>(4, {3, 2, 1});
  return layers.add_dense<nn::identity>(10).take();
}

enum class strategy_kind { synchronous, buckets, reproducible, fixed_point, local_sgd, int8, top_k };

constexpr std::string_view name(strategy_kind kind) {
  constexpr std::string_view names[] = {"synchronous", "buckets", "reproducible", "fixed_point",
                                        "local_sgd",   "int8",    "top_k"};
  return names[static_cast<std::size_t>(kind)];
}

struct job {
  nn::optimizer_kind optimizer = nn::optimizer_kind::sgd;
  strategy_kind strategy = strategy_kind::synchronous;
  std::size_t batch = 5;
  nn::layer_list<float> (*layers)() = perceptron;
};

nn::settings settings_of(job const& job_options) {
  nn::settings s;
  s.optimizer = job_options.optimizer;
  s.epochs = 2;
  s.batch = job_options.batch;
  s.rate = 0.01F;
  s.epsilon = 1e-3F;  // with a smaller one, Adam magnifies the rounding of tiny gradients
  s.trust = 0.05F;
  s.weight_decay = 0.01F;
  s.clip_norm = 2;
  s.label_smoothing = 0.1F;
  s.micro_batch = job_options.strategy == strategy_kind::reproducible ? 2 : 0;
  s.reproducible = job_options.strategy == strategy_kind::reproducible;
  return s;
}

/// The numbers of a training that must agree, and the weights at its end.
struct results {
  std::vector<float> metrics;
  std::vector<float> weights;
  std::vector<float> statistics;

  void step(nn::step_result const& result, nn::replica const&) {
    metrics.insert(metrics.end(), {result.loss, result.accuracy});
  }
  void epoch(nn::epoch_result const& result) {
    for (double const number : {result.training_loss, result.test_loss, result.test_accuracy}) {
      metrics.push_back(static_cast<float>(number));
    }
  }
};

void run(nn::replica& model, nn::strategy&& strategy, results& observer) {
  nn::train(model, strategy, observer);
  observer.weights.assign(model.parameters().begin(), model.parameters().end());
  observer.statistics.assign(model.statistics().begin(), model.statistics().end());
}

/// Trains on this number of ranks.
std::vector<results> train(job const& job_options, rank_type ranks) {
  (void)data();
  auto ends = tutti::spawn<tutti::loopback>(ranks, [&](auto& world) {
    nn::set_threads(1);
    nn::replica model(nn::model<float>(job_options.layers(), nn::replica::extra_scalars), data().training, data().test,
                      settings_of(job_options), world.rank(), world.size());
    results observer;
    auto const train_compressed = [&](auto sum) {
      run(model, nn::compressed_synchronous(world, std::move(sum), nn::replica::extra_scalars), observer);
    };
    switch (job_options.strategy) {
      case strategy_kind::synchronous:
        run(model, nn::synchronous(world, tutti::ring{}), observer);
        break;
      case strategy_kind::buckets:
        run(model, nn::synchronous(world, tutti::ring{}, 4096), observer);
        break;
      case strategy_kind::reproducible:
        run(model, nn::reproducible(world, tutti::ring{}, model.sums()), observer);
        break;
      case strategy_kind::fixed_point:
        run(model, nn::fixed_point(world, tutti::ring{}, nn::constant_factor{1e7F}, 0, nn::replica::extra_scalars),
            observer);
        break;
      case strategy_kind::local_sgd:
        run(model, nn::local_sgd(world, tutti::ring{}, 3), observer);
        break;
      case strategy_kind::int8:
        train_compressed(nn::quantised_sum(world));
        break;
      case strategy_kind::top_k:
        train_compressed(nn::sparse_sum(world, nn::top_k(0.05, 7), nn::feedback()));
        break;
    }
    return observer;
  });
  std::vector<results> result;
  for (auto& end : ends) {
    BOOST_REQUIRE_MESSAGE(end.has_value(), end.failure().text);
    result.push_back(std::move(end).value());
  }
  return result;
}

double distance(std::vector<float> const& a, std::vector<float> const& b) {
  BOOST_REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i != a.size(); ++i) {
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  }
  return largest;
}

constexpr std::array optimizers{nn::optimizer_kind::sgd, nn::optimizer_kind::nesterov, nn::optimizer_kind::lars,
                                nn::optimizer_kind::adam, nn::optimizer_kind::adamw};

std::string title(job const& job_options, rank_type ranks) {
  return std::string(nn::name(job_options.optimizer)) + ", " + std::string(name(job_options.strategy)) + ", " +
         std::to_string(ranks) + " ranks";
}

BOOST_AUTO_TEST_CASE(ranks_without_images_change_no_loss_and_no_score) {
  for (auto const optimizer : optimizers) {
    auto const expected = train({.optimizer = optimizer}, 1)[0];
    BOOST_TEST(expected.metrics.size() == 26U);
    BOOST_TEST(expected.metrics[24] < expected.metrics[0]);  // it learns
    for (auto const strategy : {strategy_kind::synchronous, strategy_kind::buckets, strategy_kind::reproducible,
                                strategy_kind::fixed_point}) {
      for (rank_type const ranks : {2U, 3U, 8U}) {
        job const job_options{.optimizer = optimizer, .strategy = strategy};
        auto const ends = train(job_options, ranks);
        BOOST_TEST(distance(ends[0].metrics, expected.metrics) < 1e-5, title(job_options, ranks));
        for (auto const& rank : ends) {
          BOOST_TEST((rank.metrics == ends[0].metrics), title(job_options, ranks));
          BOOST_TEST((rank.weights == ends[0].weights), title(job_options, ranks));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(reproducible_trainings_have_equal_bits) {
  for (auto const optimizer : optimizers) {
    job const job_options{.optimizer = optimizer, .strategy = strategy_kind::reproducible};
    auto const expected = train(job_options, 1)[0];
    for (rank_type const ranks : {2U, 3U, 8U}) {
      auto const ends = train(job_options, ranks);
      BOOST_TEST((ends[0].metrics == expected.metrics), title(job_options, ranks));
      BOOST_TEST((ends[0].weights == expected.weights), title(job_options, ranks));
    }
  }
}

BOOST_AUTO_TEST_CASE(all_ranks_have_equal_weights_at_the_end) {
  for (auto const optimizer : optimizers) {
    for (auto const strategy : {strategy_kind::local_sgd, strategy_kind::int8, strategy_kind::top_k}) {
      job const job_options{.optimizer = optimizer, .strategy = strategy};
      auto const ends = train(job_options, 3);
      for (auto const& rank : ends) {
        BOOST_TEST((rank.weights == ends[0].weights), title(job_options, 3));
      }
    }
  }
}

/// Batch normalisation depends on the division of a batch, so two ranks with an image each are compared with larger
/// worlds in which two ranks have an image.
BOOST_AUTO_TEST_CASE(ranks_without_images_change_no_statistics) {
  for (auto const strategy : {strategy_kind::synchronous, strategy_kind::buckets, strategy_kind::local_sgd}) {
    for (auto const optimizer : {nn::optimizer_kind::sgd, nn::optimizer_kind::adam}) {
      job const job_options{.optimizer = optimizer, .strategy = strategy, .batch = 2, .layers = normalised_network};
      auto const expected = train(job_options, 2)[0];
      BOOST_TEST(expected.statistics.size() == 16U);
      for (rank_type const ranks : {3U, 8U}) {
        for (auto const& rank : train(job_options, ranks)) {
          BOOST_TEST(distance(rank.statistics, expected.statistics) < 1e-5, title(job_options, ranks));
          BOOST_TEST(distance(rank.weights, expected.weights) < 1e-5, title(job_options, ranks));
        }
      }
    }
  }
}

}  // namespace
