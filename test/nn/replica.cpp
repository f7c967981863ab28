// SPDX-License-Identifier: Apache-2.0
// test: address optimised
#include <tutti/extend/time.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/mlp.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nn = tutti::nn;

// The trainer's promises about ranks. A sum that cannot be wrong replaces the world: replicas take turns in one
// thread.

namespace {

constexpr std::array<std::size_t, 1> hidden_sizes{16};

struct data {
  nn::dataset training = nn::digits(150, 1);
  nn::dataset test = nn::digits(45, 1, 1000);
};

std::vector<nn::replica> world(data const& d, tutti::rank_type size, std::size_t batch, nn::settings settings = {}) {
  nn::set_threads(1);
  settings.batch = batch;
  std::vector<nn::replica> result;
  for (tutti::rank_type r = 0; r != size; ++r) {
    result.emplace_back(nn::model<float>(nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::relu),
                                         nn::replica::extra_scalars),
                        d.training, d.test, settings, r, size);
  }
  return result;
}

std::vector<float> weights_of(nn::replica const& replica) {
  return {replica.parameters().begin(), replica.parameters().end()};
}

/// The gradient buffers of all replicas for batch b, added up in double.
std::vector<double> sum(std::vector<nn::replica>& replicas, std::size_t b) {
  std::vector<double> result;
  for (auto& replica : replicas) {
    auto const message = replica.gradient(b);
    result.resize(message.size());
    for (std::size_t i = 0; i != message.size(); ++i) {
      result[i] += double{message[i]};
    }
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(shards_of_any_size_add_up_to_the_whole_batch) {
  data const d;
  for (std::size_t const batch : {1U, 3U, 32U, 64U}) {  // 150 = 2 x 64 + 22
    auto whole_world = world(d, 1, batch);
    whole_world[0].start(0);
    for (tutti::rank_type const size : {2U, 3U, 5U, 70U}) {
      auto divided_world = world(d, size, batch);
      for (auto& replica : divided_world) {
        replica.start(0);
      }
      for (std::size_t const b : {std::size_t{0}, whole_world[0].batches() - 1}) {
        auto const whole = sum(whole_world, b);
        auto const parts = sum(divided_world, b);
        double worst = 0;
        for (std::size_t i = 0; i != whole.size(); ++i) {
          worst = std::max(worst, std::abs(whole[i] - parts[i]));
        }
        BOOST_TEST(worst < 2e-6, "batch " << batch << ", " << size << " ranks: " << worst);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(pieces_of_any_size_add_up_to_the_whole_batch) {
  data const d;
  for (bool const prefetch : {false, true}) {
    for (tutti::rank_type const size : {1U, 3U}) {
      nn::settings settings;
      settings.augmentation = nn::crop_and_flip{};
      settings.standardise = true;
      auto whole = world(d, size, 64, settings);
      for (std::size_t const piece : {1U, 5U, 8U, 21U, 1000U}) {
        settings.micro_batch = piece;
        settings.prefetch = prefetch;
        auto piecewise = world(d, size, 64, settings);
        for (std::size_t epoch = 0; epoch != 2; ++epoch) {
          for (tutti::rank_type r = 0; r != size; ++r) {
            whole[r].start(epoch);
            piecewise[r].start(epoch);
          }
          for (std::size_t b = 0; b != whole[0].batches(); ++b) {
            auto const whole_world = sum(whole, b);
            auto const divided_world = sum(piecewise, b);
            double worst = 0;
            double largest = 0;
            for (std::size_t i = 0; i != whole_world.size(); ++i) {
              worst = std::max(worst, std::abs(whole_world[i] - divided_world[i]));
              largest = std::max(largest, std::abs(whole_world[i]));
            }
            BOOST_TEST(worst < 5e-6 * largest, "pieces of " << piece << ", " << size << " ranks: " << worst);
          }
        }
        BOOST_TEST(piecewise[0].test().correct == whole[0].test().correct);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(prefetching_changes_no_bit) {
  data const d;
  nn::settings settings;
  settings.epochs = 3;
  settings.augmentation = nn::crop_and_flip{};
  settings.micro_batch = 13;
  std::vector<std::vector<float>> weights;
  for (bool const prefetch : {false, true}) {
    settings.prefetch = prefetch;
    auto whole_world = world(d, 1, 32, settings);
    nn::local_only strategy;
    nn::train(whole_world[0], strategy);
    weights.push_back(weights_of(whole_world[0]));
  }
  BOOST_TEST(std::memcmp(weights[0].data(), weights[1].data(), weights[0].size() * sizeof(float)) == 0);
}

BOOST_AUTO_TEST_CASE(every_test_image_counts_once) {
  data const d;
  auto whole_world = world(d, 1, 32);
  auto const whole = whole_world[0].test();
  BOOST_TEST(whole.correct <= 45.0F);
  for (tutti::rank_type const size : {2U, 4U, 50U}) {
    auto divided_world = world(d, size, 32);
    nn::batch_metrics<float> parts;
    for (auto& replica : divided_world) {
      auto const part = replica.test();
      parts.loss += part.loss;
      parts.correct += part.correct;
    }
    BOOST_TEST(parts.correct == whole.correct);
    BOOST_TEST(std::abs(parts.loss - whole.loss) < 1e-3F);
  }
}

BOOST_AUTO_TEST_CASE(the_attached_numbers_are_loss_and_accuracy_of_the_batch) {
  data const d;
  auto whole_world = world(d, 1, 150);
  whole_world[0].start(0);
  auto const message = whole_world[0].gradient(0);
  auto const metrics = whole_world[0].metrics();
  BOOST_TEST(metrics.loss == message[message.size() - 2]);
  BOOST_TEST(metrics.correct == message[message.size() - 1]);
  BOOST_TEST(std::abs(metrics.loss - std::log(10.0F)) < 1.0F);  // nothing learned yet
  BOOST_TEST((metrics.correct >= 0 && metrics.correct < 0.5F));
}

BOOST_AUTO_TEST_CASE(training_is_reproducible_and_learns) {
  data const d;
  std::vector<float> weights;
  for (int run = 0; run != 2; ++run) {
    auto whole_world = world(d, 1, 32);
    nn::local_only strategy;
    nn::history history;
    nn::train(whole_world[0], strategy, history);
    BOOST_TEST(history.epochs.size() == 5U);
    BOOST_TEST(history.steps.size() == 25U);
    BOOST_TEST(history.steps.back().loss < 0.8F * history.steps.front().loss);
    auto const now = weights_of(whole_world[0]);
    BOOST_TEST((weights.empty() || std::memcmp(weights.data(), now.data(), now.size() * sizeof(float)) == 0));
    weights = now;
  }
}

BOOST_AUTO_TEST_CASE(batches_grow_at_milestones) {
  data const d;
  nn::settings settings;
  settings.epochs = 4;
  settings.schedule = nn::rate_schedule_kind::growing_batch;
  settings.changes = {{1, 3}, 3};
  auto divided_world = world(d, 2, 32, settings);
  auto whole_world = world(d, 1, 32, settings);
  for (std::size_t epoch = 0; epoch != 4; ++epoch) {
    whole_world[0].start(epoch);
    divided_world[0].start(epoch);
    divided_world[1].start(epoch);
    std::size_t const batch = std::array{32U, 96U, 96U, 150U}[epoch];
    BOOST_REQUIRE(whole_world[0].batches() == (150 + batch - 1) / batch);
    BOOST_TEST(whole_world[0].batch_size(0) == batch);
    std::size_t const last = whole_world[0].batches() - 1;
    auto const whole = sum(whole_world, last);
    auto const parts = sum(divided_world, last);
    for (std::size_t i = 0; i != whole.size(); ++i) {
      BOOST_REQUIRE(std::abs(whole[i] - parts[i]) < 2e-6);
    }
  }
  auto fresh = world(d, 1, 32, settings);
  nn::local_only strategy;
  nn::history history;
  nn::train(fresh[0], strategy, history);
  BOOST_TEST(history.steps.size() == 5 + 2 + 2 + 1U);
  BOOST_TEST(history.steps.back().images == 150U);
}

BOOST_AUTO_TEST_CASE(every_optimizer_learns) {
  data const d;
  for (auto const kind : {nn::optimizer_kind::sgd, nn::optimizer_kind::nesterov, nn::optimizer_kind::lars,
                          nn::optimizer_kind::adam, nn::optimizer_kind::adamw}) {
    nn::settings settings;
    settings.optimizer = kind;
    if (kind == nn::optimizer_kind::adam || kind == nn::optimizer_kind::adamw) {
      settings.rate = 0.005F;
    }
    settings.weight_decay = 1e-4F;
    settings.trust = 0.05F;
    settings.clip_norm = 10;
    settings.label_smoothing = 0.01F;
    settings.schedule = nn::rate_schedule_kind::cosine;
    settings.warm_up = 1;
    auto whole_world = world(d, 1, 32, settings);
    nn::local_only strategy;
    nn::history history;
    nn::train(whole_world[0], strategy, history);
    BOOST_TEST(history.steps.back().loss < 0.9F * history.steps.front().loss, nn::name(kind));
  }
}

BOOST_AUTO_TEST_CASE(all_of_a_strategy_s_work_counts_as_exchange) {
  struct : nn::local_only {
    void begin(std::span<float> /*gradient_buffer*/) override { spend(); }
    void on_completion(std::size_t /*first*/) override { spend(); }
    void spend() {
      auto const begin = tutti::steady_now();
      while (tutti::steady_now() - begin < std::chrono::milliseconds(1)) {
      }
      spent_seconds += std::chrono::duration<double>(tutti::steady_now() - begin).count();
    }
    double spent_seconds = 0;
  } strategy;
  data const d;
  nn::settings settings;
  settings.epochs = 1;
  auto whole_world = world(d, 1, 32, settings);
  nn::history history;
  nn::train(whole_world[0], strategy, history);
  BOOST_TEST(history.epochs[0].ranks[0].transfer >= 0.999 * strategy.spent_seconds);
}

BOOST_AUTO_TEST_CASE(divergence_is_said) {
  data const d;
  nn::settings settings;
  settings.rate = 1e30F;
  nn::replica replica(
      nn::model<float>(nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::relu), nn::replica::extra_scalars),
      d.training, d.test, settings, 0, 1);
  nn::local_only strategy;
  BOOST_CHECK_THROW(nn::train(replica, strategy), nn::divergence_error);
}

BOOST_AUTO_TEST_CASE(a_test_shows_that_the_last_step_diverged) {
  data const d;
  nn::settings settings;
  settings.epochs = 1;
  settings.rate = std::numeric_limits<float>::max();
  auto whole_world = world(d, 1, 150, settings);  // one step, whose loss is that of the initial weights
  nn::local_only strategy;
  try {
    nn::train(whole_world[0], strategy);
    BOOST_ERROR("no divergence");
  } catch (nn::divergence_error const& e) {
    BOOST_TEST(std::string(e.what()).starts_with("the loss of the test after epoch 1 is not finite"), e.what());
  }
}

BOOST_AUTO_TEST_CASE(gradients_are_clipped_to_the_norm_of_all_of_them) {
  data const d;
  auto plain_world = world(d, 1, 32);
  nn::settings settings;
  settings.clip_norm = 0.25F;
  auto clipping_world = world(d, 1, 32, settings);
  for (float const size : {0.001F, 1.0F, 100.0F}) {
    auto const message = plain_world[0].gradient_buffer();
    auto const gradients = message.first(plain_world[0].parameters().size());
    nn::random_sequence random(5);
    std::ranges::generate(message, [&] { return size * (random.fraction<float>() - 0.5F); });
    std::ranges::copy(message, clipping_world[0].gradient_buffer().begin());
    double squares = 0;
    for (float const g : gradients) {
      squares += double{g} * double{g};
    }
    auto const factor = static_cast<float>(std::min(1.0, 0.25 / std::sqrt(squares)));
    std::ranges::for_each(gradients, [factor](float& g) { g *= factor; });
    plain_world[0].update(0.5F);
    clipping_world[0].update(0.5F);
    for (std::size_t i = 0; i != gradients.size(); ++i) {
      BOOST_REQUIRE(std::abs(plain_world[0].parameters()[i] - clipping_world[0].parameters()[i]) < 1e-6F);
    }
    BOOST_TEST(plain_world[0].metrics().loss == clipping_world[0].metrics().loss);
  }
}

BOOST_AUTO_TEST_CASE(settings_that_are_no_finite_numbers_are_refused) {
  data const d;
  for (double const wrong : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    std::vector<nn::settings> cases(13);
    for (float* const value :
         {&cases[0].rate, &cases[1].last_rate, &cases[2].momentum, &cases[3].weight_decay, &cases[4].trust,
          &cases[5].beta1, &cases[6].beta2, &cases[7].epsilon, &cases[8].clip_norm, &cases[9].label_smoothing}) {
      *value = static_cast<float>(wrong);
    }
    cases[10].changes.factor = wrong;
    cases[11].decay = wrong;
    cases[12].warm_up = wrong;
    for (nn::settings const& settings : cases) {
      nn::model<float> model(nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::relu),
                             nn::replica::extra_scalars);
      BOOST_CHECK_THROW(nn::replica(std::move(model), d.training, d.test, settings, 0, 1), tutti::precondition_error);
    }
  }
  std::vector<nn::settings> out_of_range(3);
  out_of_range[0].clip_norm = -1;
  out_of_range[1].label_smoothing = -0.1F;
  out_of_range[2].label_smoothing = 1;
  for (nn::settings const& settings : out_of_range) {
    BOOST_CHECK_THROW(world(d, 1, 32, settings), tutti::precondition_error);
  }
}

BOOST_AUTO_TEST_CASE(models_that_do_not_fit_are_refused) {
  data const d;
  nn::settings const settings;
  auto const expect_refusal = [&](nn::model<float> model) {
    BOOST_CHECK_THROW(nn::replica(std::move(model), d.training, d.test, settings, 0, 1), tutti::precondition_error);
  };
  expect_refusal(nn::model<float>(nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::relu)));
  expect_refusal(
      nn::model<float>(nn::mlp<float>(785, hidden_sizes, 10, nn::hidden_activation::relu), nn::replica::extra_scalars));
  expect_refusal(
      nn::model<float>(nn::mlp<float>(784, hidden_sizes, 9, nn::hidden_activation::relu), nn::replica::extra_scalars));
}
