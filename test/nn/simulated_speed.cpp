// SPDX-License-Identifier: Apache-2.0
// test: address optimised
#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/simulation/simulated_learner.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/nn/zoo/vgg.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace nn = tutti::nn;

BOOST_AUTO_TEST_CASE(a_slow_rank_releases_each_layer_late_and_has_the_same_bits) {
  // A second thread may wait for a busy processor, and that time is multiplied by a thousand.
  nn::set_threads(1);
  nn::dataset const training = nn::digits(150, 1);
  nn::dataset const test = nn::digits(45, 1, 1000);
  constexpr std::array<std::size_t, 1> hidden_sizes{16};
  nn::settings const settings;
  auto const make_replica = [&](double factor) {
    auto computes =
        nn::make_learner(nn::model<float>(nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::relu),
                                          nn::replica::extra_scalars),
                         settings);
    return nn::replica(nn::at_speed(std::move(computes), {.factor = factor}, settings.seed, 0), training, test,
                       settings, 0, 1);
  };
  struct : nn::gradient_listener {
    void on_completion(std::size_t first) override {
      if (first < last) {
        at.push_back(tutti::steady_now());
        last = first;
      }
    }
    std::size_t last = SIZE_MAX;
    std::vector<tutti::time_point> at{tutti::steady_now()};
  } quick, slow;
  auto replica = make_replica(1);
  replica.start(0);
  auto const message = replica.gradient(0, quick);
  auto other = make_replica(1e3);
  other.start(0);
  slow.at.front() = tutti::steady_now();
  BOOST_TEST(std::ranges::equal(other.gradient(0, slow), message));
  BOOST_REQUIRE(slow.at.size() == 3U);  // the start, the last layer, the first layer
  for (std::size_t i = 1; i != slow.at.size(); ++i) {
    BOOST_TEST((slow.at[i] - slow.at[i - 1] > std::chrono::milliseconds(2)));  // microseconds at full speed
  }
  BOOST_CHECK_THROW(make_replica(0.5), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(what_is_slow_at_random_depends_on_seed_rank_and_step_and_lies_between_1_and_the_most) {
  nn::simulated_speed const speed{.factor = 2, .max_random_factor = 4};
  double sum = 0;
  for (std::size_t step = 0; step != 1000; ++step) {
    double const factor = speed.factor_at(1, 3, step);
    BOOST_TEST((factor >= 2 && factor < 8));
    BOOST_TEST(factor == speed.factor_at(1, 3, step));
    BOOST_TEST(factor != speed.factor_at(2, 3, step));
    BOOST_TEST(factor != speed.factor_at(1, 2, step));
    BOOST_TEST(factor != speed.factor_at(1, 3, step + 1));
    sum += factor;
  }
  BOOST_TEST(std::abs(sum / 1000 - 5) < 0.2);  // four standard deviations
  BOOST_TEST((nn::simulated_speed{.factor = 3}.factor_at(1, 0, 0)) == 3);
}

BOOST_AUTO_TEST_CASE(a_pretended_gradient_takes_its_time_and_releases_each_layer_at_its_share_of_it) {
  nn::dataset empty_images{{3, 224, 224}, 1000, {}, std::vector<std::uint8_t>(64)};  // pixels are never read
  nn::model<float> model(nn::vgg<float>(16, empty_images.shape, empty_images.classes), nn::replica::extra_scalars);
  auto const sizes = model.ranges();
  auto const products = model.multiply_adds();
  // Simonyan and Zisserman's network takes 15.5 thousand million multiply-adds; here biases count as weights.
  double const total = std::accumulate(products.begin(), products.end(), 0.0);
  BOOST_TEST(total > 15.4e9);
  BOOST_TEST(total < 15.6e9);
  BOOST_REQUIRE(products.size() == 16U);
  nn::settings settings;
  settings.batch = 32;
  constexpr double seconds = 0.3;  // the time for a rank's 16 images
  nn::replica replica(nn::at_speed(nn::make_learner(std::move(model), settings),
                                   {.factor = 2, .seconds_per_image = seconds / 2 / 16}, settings.seed, 1),
                      empty_images, empty_images, settings, 1, 2);
  struct : nn::gradient_listener {
    void on_completion(std::size_t first) override {
      if (first < last) {
        at.emplace_back(first, static_cast<double>((tutti::steady_now() - begin).count()) * 1e-9);
        last = first;
      }
    }
    std::size_t last = SIZE_MAX;
    std::vector<std::pair<std::size_t, double>> at;
    tutti::time_point begin{};
  } seen;
  seen.last = replica.gradient_buffer().size();
  replica.start(0);
  seen.begin = tutti::steady_now();
  auto const message = replica.gradient(0, seen);
  BOOST_TEST(message.size() == 138'357'544U + 2);
  BOOST_REQUIRE(seen.at.size() == 16U);
  double completed_work = total / 3;
  for (std::size_t i = 16; i-- != 0;) {
    completed_work += products[i] * 2 / 3;
    auto const [first, at] = seen.at[15 - i];
    BOOST_TEST(first == sizes[i].offset);
    BOOST_TEST(at >= seconds * completed_work / total * 0.9999);  // on time, or later on a busy machine
  }
  BOOST_TEST(replica.test().loss == 0.0F);
}
