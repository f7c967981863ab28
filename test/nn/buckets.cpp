// SPDX-License-Identifier: Apache-2.0
// test: thread
#include <support/counted_new.hpp>
#include <tutti/join.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace nn = tutti::nn;

namespace {

constexpr std::size_t numbers = 40'003;

/// A rank's contribution at a step.
std::vector<float> contribution_of(tutti::rank_type rank, std::uint64_t step) {
  nn::random_sequence random(step * 100 + rank);
  std::vector<float> result(numbers);
  for (float& number : result) {
    number = random.fraction<float>() - 0.5F;
  }
  return result;
}

/// Completes the gradient buffer from its end, in strides that differ between ranks.
template <class Strategy>
void sum(Strategy& strategy, std::span<float> message) {
  std::size_t const stride = 499 + 977 * strategy.rank();
  strategy.begin(message);
  if (strategy.rank() != 2) {  // rank 2 has nothing to compute
    for (std::size_t first = message.size(); first > stride; first -= stride) {
      strategy.on_completion(first);
      strategy.on_completion(first);
    }
  }
  strategy.finish();
}

/// The sums of two steps, as words.
template <class Transport, class Topology>
std::vector<std::vector<std::uint32_t>> sums(tutti::rank_type size, std::size_t bucket, nn::bucket_progress progress) {
  auto results = tutti::spawn<Transport>(size, [=](auto& world) {
    nn::synchronous strategy(world, Topology{}, bucket, progress);
    std::vector<std::uint32_t> words;
    for (std::uint64_t step = 0; step != 2; ++step) {
      auto message = contribution_of(world.rank(), step);
      sum(strategy, message);
      for (float const number : message) {
        words.push_back(std::bit_cast<std::uint32_t>(number));
      }
    }
    return words;
  });
  std::vector<std::vector<std::uint32_t>> words_of_ranks;
  for (auto& result : results) {
    BOOST_REQUIRE_MESSAGE(result.has_value(), result.failure().text);
    words_of_ranks.push_back(std::move(result).value());
  }
  return words_of_ranks;
}

/// Checks that all ranks have equal bits, as close to the exact sum as the roundings of that many ranks allow.
template <class Transport, class Topology>
void check_sums(tutti::rank_type size, std::size_t bucket,
                nn::bucket_progress progress = nn::bucket_progress::between_layers) {
  auto const words = sums<Transport, Topology>(size, bucket, progress);
  for (auto const& rank_words : words) {
    BOOST_TEST(bool(rank_words == words[0]));
  }
  for (std::uint64_t step = 0; step != 2; ++step) {
    std::vector<double> exact(numbers);
    std::vector<double> sizes(numbers);
    for (tutti::rank_type r = 0; r != size; ++r) {
      auto const contribution = contribution_of(r, step);
      for (std::size_t i = 0; i != numbers; ++i) {
        exact[i] += double{contribution[i]};
        sizes[i] += std::abs(double{contribution[i]});
      }
    }
    std::size_t wrong = 0;
    double const bound = 0.5 * double{std::numeric_limits<float>::epsilon()} * size;
    for (std::size_t i = 0; i != numbers; ++i) {
      double const value{std::bit_cast<float>(words[0][step * numbers + i])};
      wrong += std::abs(value - exact[i]) <= bound * sizes[i] ? 0U : 1U;
    }
    BOOST_TEST(wrong == 0U);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(buckets_of_any_size_hold_the_sums_wherever_ranks_cut_their_work) {
  for (tutti::rank_type const size : {1U, 2U, 3U}) {
    for (std::size_t const bucket : {0U, 1U << 10, 1U << 16, 100'000U, 4U * 40'003, 1U << 20}) {
      BOOST_TEST_CONTEXT(size << " ranks, buckets of " << bucket << " bytes") {
        check_sums<tutti::loopback, tutti::ring>(size, bucket);
        check_sums<tutti::loopback, tutti::binary_tree>(size, bucket);
        check_sums<tutti::tcp, tutti::ring>(size, bucket);
        check_sums<tutti::loopback, tutti::ring>(size, bucket, nn::bucket_progress::by_thread);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_complete_is_summed_before_the_rest_is) {
  auto results = tutti::spawn<tutti::loopback>(3, [](auto& world) {
    nn::synchronous strategy(world, tutti::ring{}, 4096);
    std::vector<float> message(3000, 1.0F);
    strategy.begin(message);
    message[0] = std::nanf("");  // not computed yet
    while (message[1976] != 3.0F) {
      strategy.on_completion(1000);
    }
    message[0] = 1.0F;
    bool const is_untouched = message[1975] == 1.0F;  // its bucket is not complete
    strategy.finish();
    return is_untouched && message == std::vector<float>(3000, 3.0F);
  });
  for (auto& result : results) {
    BOOST_REQUIRE_MESSAGE(result.has_value(), result.failure().text);
    BOOST_TEST(result.value());
  }
}

BOOST_AUTO_TEST_CASE(messages_in_buckets_do_not_allocate_in_the_steady_state) {
  auto results = tutti::spawn<tutti::loopback>(3, [](auto& world) {
    nn::synchronous strategy(world, tutti::ring{}, 10'000);
    auto message = contribution_of(world.rank(), 0);
    long allocations_before = 0;
    for (int step = 0; step != 20; ++step) {
      allocations_before = step == 10 ? support::allocations_of_this_thread : allocations_before;
      sum(strategy, message);
    }
    return support::allocations_of_this_thread - allocations_before;
  });
  for (auto& result : results) {
    BOOST_REQUIRE_MESSAGE(result.has_value(), result.failure().text);
    BOOST_TEST(result.value() == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_in_the_middle_is_named_by_the_others) {
  for (auto const progress : {nn::bucket_progress::between_layers, nn::bucket_progress::by_thread}) {
    for (std::size_t const first : {numbers, numbers / 2, std::size_t{1}}) {
      auto results = tutti::spawn<tutti::loopback>(3, [=](auto& world) {
        auto message = contribution_of(world.rank(), 0);
        nn::synchronous strategy(world, tutti::ring{}, 10'000, progress);
        strategy.begin(message);
        strategy.on_completion(first);
        if (world.rank() == 1) {
          return std::string("gone");
        }
        try {
          strategy.finish();
        } catch (tutti::error const& e) {
          return e.at_fault() == std::vector<tutti::rank_type>{1} ? std::string("named") : std::string(e.what());
        }
        return std::string("no error");
      });
      BOOST_TEST(results[0].value() == "named");
      BOOST_TEST(results[2].value() == "named");
    }
  }
}
