// SPDX-License-Identifier: Apache-2.0
// test: thread
#include <nn/plain_step.hpp>
#include <nn/synchronous_laws.hpp>
#include <support/counted_new.hpp>
#include <tutti/nn/strategy/averaging/gossip.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace nn = tutti::nn;
using support::plain_step;
using support::random_numbers;

namespace {

constexpr std::size_t numbers = 101;

std::vector<float> start_of(tutti::rank_type rank) {
  return random_numbers(numbers, 1, rank);
}
std::vector<float> gradient_of(tutti::rank_type rank, std::size_t step) {
  return random_numbers(numbers + 2, 2 + rank, step);
}

struct world {
  tutti::rank_type size;
  nn::neighbours graph;
  std::size_t staleness;
};

constexpr auto ring = nn::neighbours::ring;
constexpr auto exponential = nn::neighbours::exponential;

/// Calls f with a strategy and a rank's initial weights. @returns the weights of all ranks afterwards
template <class F>
std::vector<std::vector<float>> on_all(world const& w, F f) {
  auto results = tutti::spawn<tutti::loopback>(w.size, [&](auto& members) {
    nn::gossip strategy(members, tutti::ring{}, w.graph, w.staleness);
    auto weights = start_of(members.rank());
    f(strategy, weights);
    return weights;
  });
  std::vector<std::vector<float>> values;
  for (auto& result : results) {
    BOOST_REQUIRE_MESSAGE(result.has_value(), result.failure().text);
    values.push_back(std::move(result).value());
  }
  return values;
}

/// Makes `count` steps; then `average_weights` settles all exchanges, and `restore_weights` restores each rank's own
/// weights.
auto steps_of(std::size_t count, float rate) {
  return [=](auto& strategy, std::vector<float>& weights) {
    for (std::size_t step = 0; step != count; ++step) {
      plain_step plain{weights, gradient_of(strategy.rank(), step), 1, rate};
      strategy.step(plain);
    }
    strategy.average_weights(weights);
    strategy.restore_weights(weights);
  };
}

std::vector<double> mean(std::vector<std::vector<float>> const& ranks) {
  std::vector<double> result(numbers);
  for (auto const& weights : ranks) {
    for (std::size_t i = 0; i != numbers; ++i) {
      result[i] += double{weights[i]} / static_cast<double>(ranks.size());
    }
  }
  return result;
}

template <class A, class B>
double farthest(A const& a, B const& b) {
  double largest = 0;
  for (std::size_t i = 0; i != numbers; ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
}

std::vector<world> all_worlds() {
  std::vector<world> result;
  for (auto const graph : {ring, exponential}) {
    for (tutti::rank_type const size : {1U, 2U, 3U, 4U, 5U}) {
      for (std::size_t const staleness : {0U, 1U, 3U}) {
        result.push_back({size, graph, staleness});
      }
    }
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_mean_follows_the_mean_of_the_gradients_however_stale_weights_are) {
  for (auto const& w : all_worlds()) {
    constexpr std::size_t count = 20;
    auto const mean_weights = mean(on_all(w, steps_of(count, 0.25F)));
    std::vector<std::vector<float>> starts;
    for (tutti::rank_type r = 0; r != w.size; ++r) {
      starts.push_back(start_of(r));
    }
    auto expected = mean(starts);
    for (std::size_t step = 0; step != count; ++step) {
      for (tutti::rank_type r = 0; r != w.size; ++r) {
        auto const g = gradient_of(r, step);
        for (std::size_t i = 0; i != numbers; ++i) {
          expected[i] -= 0.25 * double{g[i]} / w.size;
        }
      }
    }
    BOOST_TEST(farthest(mean_weights, expected) < 1e-5, w.size << " ranks, staleness " << w.staleness);
  }
}

BOOST_AUTO_TEST_CASE(without_gradients_all_come_to_agree_on_the_mean) {
  for (auto const& w : all_worlds()) {
    auto const initial_mean = mean(on_all(w, [](auto&, auto&) {}));
    for (auto const& weights : on_all(w, steps_of(150, 0))) {
      BOOST_TEST(farthest(weights, initial_mean) < 1e-4, w.size << " ranks, staleness " << w.staleness);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_exponential_graph_of_a_power_of_two_ranks_agrees_after_its_logarithm) {
  for (tutti::rank_type const size : {2U, 4U, 8U}) {
    std::size_t const rounds = size == 2 ? 1 : size == 4 ? 2 : 3;
    for (std::size_t const count : {rounds - 1, rounds}) {
      auto const ranks = on_all({size, exponential, 0}, steps_of(count, 0));
      double apart = 0;
      for (auto const& weights : ranks) {
        apart = std::max(apart, farthest(weights, mean(ranks)));
      }
      BOOST_TEST((apart < 1e-6) == (count == rounds), size << " ranks, " << count << " exchanges");
    }
  }
}

BOOST_AUTO_TEST_CASE(without_staleness_a_ring_does_what_the_paper_says) {
  constexpr tutti::rank_type size = 5;
  constexpr std::size_t count = 9;
  auto const weights = on_all({size, ring, 0}, steps_of(count, 0.25F));
  std::vector<std::vector<double>> x;
  for (tutti::rank_type r = 0; r != size; ++r) {
    auto const start = start_of(r);
    x.emplace_back(start.begin(), start.end());
  }
  auto const mean_of_neighbours = [&](tutti::rank_type r, std::size_t i) {
    return (x[(r + size - 1) % size][i] + x[r][i] + x[(r + 1) % size][i]) / 3;
  };
  for (std::size_t step = 0; step != count; ++step) {
    auto next = x;
    for (tutti::rank_type r = 0; r != size; ++r) {
      auto const g = gradient_of(r, step);
      for (std::size_t i = 0; i != numbers; ++i) {
        // No exchange precedes the first step: replicas are equal at first.
        next[r][i] = (step == 0 ? x[r][i] : mean_of_neighbours(r, i)) - 0.25 * double{g[i]};
      }
    }
    x = next;
  }
  auto const last = x;  // exchanged once more, after the last step
  for (tutti::rank_type r = 0; r != size; ++r) {
    for (std::size_t i = 0; i != numbers; ++i) {
      BOOST_TEST(std::abs(double{weights[r][i]} - mean_of_neighbours(r, i)) < 1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_rank_goes_ahead_of_its_neighbours_by_what_staleness_allows_and_no_more) {
  for (std::size_t const staleness : {0U, 2U}) {
    for (auto const graph : {ring, exponential}) {
      constexpr tutti::rank_type size = 3;
      std::array<std::atomic<std::size_t>, size> steps{};
      std::atomic<bool> too_far = false;
      on_all({size, graph, staleness}, [&](auto& strategy, std::vector<float>& weights) {
        auto const me = strategy.rank();
        if (me == 0) {  // begins when the others are as far ahead as they surely can be
          while (steps[1] < staleness + 1 || steps[2] < staleness + 1) {
            strategy.on_completion(0);
          }
        }
        for (std::size_t step = 0; step != 12; ++step) {
          plain_step plain{weights, gradient_of(me, step), 1, 0.1F};
          strategy.step(plain);
          ++steps[me];
          // A step may be done and not yet counted.
          bool const left_behind = steps[0] + staleness + 2 < steps[me];
          too_far = too_far || (graph == ring && left_behind);
        }
        strategy.average_weights(weights);
      });
      BOOST_TEST(!too_far);
    }
  }
}

BOOST_AUTO_TEST_CASE(united_replicas_have_equal_bits_and_resume_with_their_own) {
  auto results = tutti::spawn<tutti::loopback>(3, [](auto& members) {
    nn::gossip strategy(members, tutti::ring{}, ring, 1);
    auto weights = start_of(members.rank());
    plain_step plain{weights, gradient_of(members.rank(), 0)};
    strategy.step(plain);
    strategy.average_weights(weights);
    auto result = weights;
    strategy.restore_weights(weights);
    result.push_back(weights[0]);
    return result;
  });
  for (std::size_t r = 1; r != 3; ++r) {
    auto const first = results[0].value();
    auto const other = results[r].value();
    BOOST_TEST(std::equal(first.begin(), first.end() - 1, other.begin()));
    BOOST_TEST(first.back() != other.back());
  }
}

BOOST_AUTO_TEST_CASE(steps_do_not_allocate_in_the_steady_state) {
  auto results = tutti::spawn<tutti::loopback>(3, [](auto& members) {
    // No staleness: with it, the largest number of exchanges under way is random, and may be reached late.
    nn::gossip strategy(members, tutti::ring{}, ring, 0);
    auto weights = start_of(members.rank());
    plain_step plain{weights, gradient_of(members.rank(), 0), 1, 0.01F};
    long allocations_before = 0;
    for (int step = 0; step != 60; ++step) {
      allocations_before = step == 30 ? support::allocations_of_this_thread : allocations_before;
      strategy.step(plain);
    }
    long const allocations = support::allocations_of_this_thread - allocations_before;
    strategy.average_weights(weights);
    return allocations;
  });
  for (auto& result : results) {
    BOOST_REQUIRE_MESSAGE(result.has_value(), result.failure().text);
    BOOST_TEST(result.value() == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_is_named_by_its_neighbours) {
  auto results = tutti::spawn<tutti::loopback>(4, [](auto& members) {
    nn::gossip strategy(members, tutti::ring{}, ring, 1);
    auto weights = start_of(members.rank());
    try {
      for (std::size_t step = 0; members.rank() != 1 || step != 3; ++step) {
        plain_step plain{weights, gradient_of(members.rank(), step)};
        strategy.step(plain);
      }
    } catch (tutti::error const& e) {
      return e.at_fault() == std::vector<tutti::rank_type>{1} ? std::string("named") : std::string(e.what());
    }
    return std::string("gone");
  });
  for (std::size_t const r : {0U, 2U, 3U}) {
    BOOST_REQUIRE_MESSAGE(results[r].has_value(), results[r].failure().text);
    BOOST_TEST(results[r].value() == "named");
  }
}

BOOST_AUTO_TEST_CASE(training_learns_and_ends_with_equal_weights) {
  (void)laws::training_data();
  for (std::size_t const staleness : {0U, 2U}) {
    auto results = tutti::spawn<tutti::loopback>(3, [=](auto& members) {
      auto model = laws::training_replica(members.rank(), members.size());
      nn::gossip strategy(members, tutti::ring{}, ring, staleness);
      nn::history history;
      nn::train(model, strategy, history);
      std::vector<float> result(model.parameters().begin(), model.parameters().end());
      result.push_back(static_cast<float>(history.epochs[0].training_loss));
      result.push_back(static_cast<float>(history.epochs[1].training_loss));
      result.push_back(static_cast<float>(history.epochs[1].images));
      return result;
    });
    for (auto& result : results) {
      BOOST_REQUIRE_MESSAGE(result.has_value(), result.failure().text);
      BOOST_TEST(bool(result.value() == results[0].value()));
    }
    auto const& last = results[0].value();
    BOOST_TEST(last.end()[-1] == static_cast<float>(laws::training_images));
    BOOST_TEST(last.end()[-2] < 0.97F * last.end()[-3]);
  }
}
