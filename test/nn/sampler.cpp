// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/data/sampler.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace nn = tutti::nn;

BOOST_AUTO_TEST_CASE(every_sample_exactly_once_per_epoch_over_any_number_of_ranks) {
  for (std::size_t const samples : {1U, 2U, 100U, 128U, 1000U}) {
    for (std::size_t const batch : {1U, 7U, 32U, 128U, 5000U}) {
      nn::sampler s(samples, batch, 3);
      for (std::uint64_t epoch = 0; epoch != 3; ++epoch) {
        s.start(epoch);
        for (tutti::rank_type const ranks : {1U, 2U, 3U, 4U, 17U}) {
          std::vector<int> times_drawn(samples);
          for (std::size_t b = 0; b != s.batches(); ++b) {
            auto at = s.batch(b).begin();
            std::size_t longest = 0;
            std::size_t shortest = samples;
            for (tutti::rank_type r = 0; r != ranks; ++r) {
              auto const shard = s.shard(b, r, ranks);
              longest = std::max(longest, shard.size());
              shortest = std::min(shortest, shard.size());
              for (auto const sample : shard) {
                BOOST_REQUIRE(sample == *at++);  // in the order of the batch, on any rank
                ++times_drawn[sample];
              }
            }
            BOOST_REQUIRE(at == s.batch(b).end());
            BOOST_REQUIRE(longest - shortest <= 1);
          }
          BOOST_TEST(std::ranges::all_of(times_drawn, [](int times) { return times == 1; }));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(all_batches_but_the_last_are_full) {
  nn::sampler s(1000, 128, 1);
  s.start(0);
  BOOST_TEST(s.batches() == 8U);
  for (std::size_t b = 0; b != 7; ++b) {
    BOOST_TEST(s.batch(b).size() == 128U);
  }
  BOOST_TEST(s.batch(7).size() == 1000U - 7 * 128U);
}

BOOST_AUTO_TEST_CASE(the_order_is_a_function_of_seed_and_epoch) {
  auto const order = [](std::uint64_t seed, std::uint64_t epoch) {
    nn::sampler s(500, 500, seed);
    s.start(epoch + 5);  // an earlier call leaves no trace
    s.start(epoch);
    return std::vector(s.batch(0).begin(), s.batch(0).end());
  };
  BOOST_TEST((order(1, 0) == order(1, 0)));
  BOOST_TEST((order(1, 0) != order(1, 1)));
  BOOST_TEST((order(1, 0) != order(2, 0)));
  BOOST_TEST(!std::ranges::is_sorted(order(1, 0)));
}

BOOST_AUTO_TEST_CASE(every_sample_comes_everywhere_about_equally_often) {
  constexpr std::size_t samples = 8;
  constexpr int epochs = 8000;
  std::array<std::array<int, samples>, samples> count{};
  nn::sampler s(samples, samples, 9);
  for (int epoch = 0; epoch != epochs; ++epoch) {
    s.start(static_cast<std::uint64_t>(epoch));
    for (std::size_t i = 0; i != samples; ++i) {
      ++count[i][s.batch(0)[i]];
    }
  }
  for (auto const& row : count) {
    for (int const n : row) {
      BOOST_TEST(std::abs(n - epochs / 8) < 150);  // five standard deviations
    }
  }
}

BOOST_AUTO_TEST_CASE(batches_of_another_size_cut_the_same_order) {
  nn::sampler small(1000, 32, 7);
  nn::sampler s(1000, 32, 7);
  small.start(3);
  s.start(2);
  s.start(3, 300);
  BOOST_TEST(s.batches() == 4U);
  BOOST_TEST(s.batch(3).size() == 100U);
  auto const first = s.batch(0);
  for (std::size_t i = 0; i != first.size(); ++i) {
    BOOST_TEST(first[i] == small.batch(i / 32)[i % 32]);
  }
  s.start(3, 32);  // returns to the smaller batch
  BOOST_TEST(std::ranges::equal(s.batch(31), small.batch(31)));
  BOOST_CHECK_THROW(s.start(0, 0), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(mistakes_are_refused) {
  BOOST_CHECK_THROW(nn::sampler(0, 1, 1), tutti::precondition_error);
  BOOST_CHECK_THROW(nn::sampler(1, 0, 1), tutti::precondition_error);
}
