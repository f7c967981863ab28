// SPDX-License-Identifier: Apache-2.0
// test: address optimised
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/detail/batches/own_batches.hpp>
#include <tutti/nn/detail/batches/partition.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/zoo/mlp.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace nn = tutti::nn;

namespace {

/// Random labels of ten classes.
std::vector<std::uint8_t> labels_of(std::size_t count) {
  nn::random_sequence random(5);
  std::vector<std::uint8_t> result(count);
  std::ranges::generate(result, [&] { return static_cast<std::uint8_t>(random.draw_below(10)); });
  return result;
}

constexpr std::array kinds{nn::ownership::common, nn::ownership::iid, nn::ownership::labels};

}  // namespace

BOOST_AUTO_TEST_CASE(every_sample_is_in_one_part_of_one_batch_of_an_epoch) {
  for (auto const kind : kinds) {
    for (std::size_t const samples : {1U, 7U, 200U, 203U}) {
      auto const labels = labels_of(samples);
      for (tutti::rank_type const ranks : {1U, 2U, 3U, 11U}) {
        for (std::size_t const batch : {1U, 32U, 1000U}) {
          nn::settings settings;
          settings.batch = std::min(batch, samples);
          settings.images = kind;
          nn::batch_plan const plan(settings, samples);
          std::multiset<std::uint32_t> seen_samples;
          std::vector<std::size_t> sizes(plan.batches(0));
          for (tutti::rank_type r = 0; r != ranks; ++r) {
            nn::detail::own_batches rank_batches(labels, settings, r, ranks);
            rank_batches.start(1, plan.size(0));
            BOOST_REQUIRE(rank_batches.batches() == sizes.size());
            for (std::size_t b = 0; b != sizes.size(); ++b) {
              BOOST_REQUIRE(rank_batches.offset(b) == sizes[b]);
              BOOST_REQUIRE(rank_batches.part(b).size() <= rank_batches.max_part_size(plan));
              BOOST_REQUIRE((!rank_batches.all_ranks_always(plan) || !rank_batches.part(b).empty()));
              sizes[b] += rank_batches.part(b).size();
              seen_samples.insert(rank_batches.part(b).begin(), rank_batches.part(b).end());
              BOOST_REQUIRE((r + 1 != ranks || rank_batches.size(b) == sizes[b]));
            }
          }
          BOOST_TEST(seen_samples.size() == samples);
          BOOST_TEST(std::set(seen_samples.begin(), seen_samples.end()).size() == samples);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(images_of_its_own_stay_a_ranks_own_in_another_order) {
  auto const labels = labels_of(200);
  for (auto const kind : {nn::ownership::iid, nn::ownership::labels}) {
    nn::settings settings;
    settings.batch = 200;
    settings.images = kind;
    nn::detail::own_batches rank_batches(labels, settings, 1, 3);
    rank_batches.start(0, 200);
    std::vector const first(rank_batches.part(0).begin(), rank_batches.part(0).end());
    rank_batches.start(1, 200);
    std::vector const second(rank_batches.part(0).begin(), rank_batches.part(0).end());
    BOOST_TEST(bool(first != second));
    BOOST_TEST(bool(std::set(first.begin(), first.end()) == std::set(second.begin(), second.end())));
    rank_batches.start(0, 200);
    BOOST_TEST(std::ranges::equal(rank_batches.part(0), first));
    settings.seed = 2;
    nn::detail::own_batches other(labels, settings, 1, 3);
    other.start(0, 200);
    BOOST_TEST(bool(std::set(first.begin(), first.end()) != std::set(other.part(0).begin(), other.part(0).end())));
  }
}

BOOST_AUTO_TEST_CASE(by_labels_a_rank_has_few_classes) {
  auto const labels = labels_of(10'000);
  auto const classes = [&](nn::ownership kind) {
    std::vector<std::size_t> result;
    for (auto const& part : nn::detail::partition(labels, kind, 10, 1)) {
      BOOST_TEST(part.size() == 1000U);
      std::set<std::uint8_t> part_classes;
      std::ranges::transform(part, std::inserter(part_classes, part_classes.end()),
                             [&](std::uint32_t i) { return labels[i]; });
      result.push_back(part_classes.size());
    }
    return result;
  };
  BOOST_TEST(std::ranges::min(classes(nn::ownership::iid)) == 10U);
  BOOST_TEST(std::ranges::max(classes(nn::ownership::labels)) <= 4U);  // two shards, each across at most one border
}

BOOST_AUTO_TEST_CASE(gradients_of_ranks_with_images_of_their_own_add_up_to_that_of_the_batch) {
  nn::set_threads(1);
  auto const training = nn::digits(150, 1);
  auto const test = nn::digits(10, 1, 1000);
  constexpr std::array<std::size_t, 1> hidden_sizes{8};
  nn::settings settings;
  settings.batch = 150;
  std::vector<double> whole;
  for (auto const kind : kinds) {
    settings.images = kind;
    std::vector<double> sum;
    for (tutti::rank_type r = 0; r != 4; ++r) {
      nn::replica replica(nn::model<float>(nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::relu),
                                           nn::replica::extra_scalars),
                          training, test, settings, r, 4);
      replica.start(0);
      auto const message = replica.gradient(0);
      sum.resize(message.size());
      std::ranges::transform(sum, message, sum.begin(), [](double s, float g) { return s + double{g}; });
      BOOST_TEST(replica.batch_size(0) == 150U);
    }
    whole = whole.empty() ? sum : whole;
    double worst = 0;
    for (std::size_t i = 0; i != sum.size(); ++i) {
      worst = std::max(worst, std::abs(sum[i] - whole[i]));
    }
    BOOST_TEST(worst < 2e-6, nn::name(kind));
  }
}
