// SPDX-License-Identifier: Apache-2.0
// test: address
//
// Sums of gradients that travel in fewer bytes, over worlds of threads.
#include <support/worlds.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/half.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/strategy/compressed/compressed_synchronous.hpp>
#include <tutti/nn/strategy/compressed/quantised_sum.hpp>
#include <tutti/nn/strategy/compressed/sparse_sum.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/trace/traffic_count.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nn = tutti::nn;

namespace {

using once = tutti::accumulate_in<float, tutti::sum<tutti::half>>;

constexpr std::size_t extra_scalars = 2;

/// A rank's contribution at a step: gradients, and two attached numbers.
std::vector<float> contribution_of(std::size_t n, tutti::rank_type rank, std::uint64_t step) {
  nn::random_sequence random(step * 100 + rank);
  std::vector<float> result(n + extra_scalars);
  for (float& number : result) {
    float const x = random.fraction<float>() - 0.5F;
    number = x * x * x;
  }
  return result;
}

/// The sums, in double and in rank order.
std::vector<double> exact(std::size_t n, tutti::rank_type ranks, std::uint64_t step) {
  std::vector<double> sum(n + extra_scalars);
  for (tutti::rank_type r = 0; r != ranks; ++r) {
    auto const contribution = contribution_of(n, r, step);
    for (std::size_t i = 0; i != sum.size(); ++i) {
      sum[i] += double{contribution[i]};
    }
  }
  return sum;
}

/// The results of some steps of `strategy`. Gradients are completed from the end, in strides that differ between
/// ranks.
template <class Strategy>
std::vector<std::vector<float>> sums(Strategy& strategy, std::size_t n, std::uint64_t steps) {
  std::vector<std::vector<float>> results;
  for (std::uint64_t step = 0; step != steps; ++step) {
    auto message = contribution_of(n, strategy.rank(), step);
    std::size_t const stride = 99 + 77 * strategy.rank();
    strategy.begin(message);
    for (std::size_t first = message.size(); first > stride; first -= stride) {
      strategy.on_completion(first);
    }
    strategy.finish();
    results.push_back(message);
  }
  return results;
}

/// True if all ranks have equal bits: the smallest hash, and the smallest complement of a hash, are then this rank's.
template <class World>
bool same_everywhere(World& world, std::vector<std::vector<float>> const& results) {
  std::uint64_t hash = 14695981039346656037U;
  for (auto const& result : results) {
    for (float const x : result) {
      hash = (hash ^ std::bit_cast<std::uint32_t>(x)) * 1099511628211U;
    }
  }
  std::vector<std::uint64_t> ends{hash, ~hash};
  tutti::allreduce least{world, tutti::direct{}, tutti::min<std::uint64_t>{}};
  least(ends);
  return ends[0] == hash && ends[1] == ~hash;
}

/// True if the two attached numbers are sums of floats.
bool attached_are_exact(std::vector<std::vector<float>> const& results, std::size_t n, tutti::rank_type ranks) {
  for (std::uint64_t step = 0; step != results.size(); ++step) {
    auto const right = exact(n, ranks, step);
    for (std::size_t i = n; i != n + extra_scalars; ++i) {
      if (std::abs(double{results[step][i]} - right[i]) > 1e-6) {
        return false;
      }
    }
  }
  return true;
}

/// True if sums and residuals together equal all computed gradients.
bool nothing_is_lost(std::vector<std::vector<float>> const& results, std::vector<float> const& unsent,
                     tutti::rank_type ranks) {
  std::vector<double> missing(unsent.begin(), unsent.end());
  for (std::uint64_t step = 0; step != results.size(); ++step) {
    auto const right = exact(unsent.size(), ranks, step);
    for (std::size_t i = 0; i != unsent.size(); ++i) {
      missing[i] += double{results[step][i]} - right[i];
    }
  }
  return std::ranges::all_of(missing, [](double x) { return std::abs(x) < 1e-6; });
}

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_in_16_bits_are_rounded_there_and_back_whole_or_in_buckets) {
  for (tutti::rank_type const n : {1U, 3U}) {
    support::agree<tutti::loopback>(n, [](auto& world) {
      for (std::size_t const bucket : {0U, 1024U}) {
        nn::synchronous strategy(world, tutti::direct{}, bucket, nn::bucket_progress::between_layers, once{},
                                 extra_scalars);
        for (std::size_t const length : {0U, 1U, 1021U, 40'003U}) {
          auto const results = sums(strategy, length, 2);
          if (!same_everywhere(world, results) || !attached_are_exact(results, length, world.size())) {
            return std::string("other bits on another rank, or others attached");
          }
          std::vector<float> sum(length);  // 16-bit numbers this few sum exactly in any order
          for (tutti::rank_type r = 0; r != world.size(); ++r) {
            auto const contribution = contribution_of(length, r, 1);
            for (std::size_t i = 0; i != length; ++i) {
              sum[i] += static_cast<float>(tutti::half(contribution[i]));
            }
          }
          for (std::size_t i = 0; i != length; ++i) {
            if (results[1][i] != static_cast<float>(tutti::half(sum[i]))) {
              return "number " + std::to_string(i) + " of " + std::to_string(length) + " is not rounded once";
            }
          }
        }
      }
      return std::string();
    });
  }
}

BOOST_AUTO_TEST_CASE(to_send_all_is_to_send_what_the_sum_is_of) {
  support::agree<tutti::loopback>(3, [](auto& world) {
    for (std::size_t const length : {0U, 1U, 2U, 1021U}) {
      nn::compressed_synchronous strategy(world, nn::sparse_sum(world, nn::top_k(1), nn::feedback()), extra_scalars);
      auto const results = sums(strategy, length, 1);
      std::vector<float> in_order(length);
      for (tutti::rank_type r = 0; r != 3; ++r) {
        auto const contribution = contribution_of(length, r, 0);
        for (std::size_t i = 0; i != length; ++i) {
          in_order[i] += contribution[i];
        }
      }
      if (!std::ranges::equal(in_order, std::span(results[0]).first(length))) {
        return "other sums of " + std::to_string(length);
      }
    }
    return std::string();
  });
}

BOOST_AUTO_TEST_CASE(what_is_not_sent_is_sent_later) {
  auto const check = [](auto& world, auto sum, std::size_t length) {
    // The residuals of all ranks, added up.
    std::vector<float> unsent;
    std::vector<std::vector<float>> results;
    for (std::uint64_t step = 0; step != 6; ++step) {
      auto gradients = contribution_of(length, world.rank(), step);
      sum.sum(std::span(gradients).first(length));
      results.push_back(gradients);
    }
    unsent.assign(sum.error_feedback().begin(), sum.error_feedback().begin() + static_cast<std::ptrdiff_t>(length));
    if constexpr (requires { sum.shard_error_feedback(); }) {
      std::size_t const shard = sum.shard_error_feedback().size();
      for (std::size_t i = 0; i != shard && shard * world.rank() + i < length; ++i) {
        unsent[shard * world.rank() + i] += sum.shard_error_feedback()[i];
      }
    }
    tutti::allreduce total{world, tutti::direct{}, tutti::sum<float>{}};
    total(unsent);
    for (auto& result : results) {
      result.resize(length);
    }
    if (!same_everywhere(world, results)) {
      return std::string("other bits on another rank");
    }
    return std::string(nothing_is_lost(results, unsent, world.size()) ? "" : "something is lost or sent twice");
  };
  for (tutti::rank_type const n : {1U, 2U, 3U}) {
    support::agree<tutti::loopback>(n, [&](auto& world) {
      std::string wrong;
      for (std::size_t const length : {1U, 5U, 1021U}) {
        wrong += check(world, nn::sparse_sum(world, nn::top_k(0.01), nn::feedback()), length);
        wrong += check(world, nn::sparse_sum(world, nn::top_k(0.1, 4), nn::feedback()), length);
        wrong += check(world, nn::sparse_sum(world, nn::threshold(0.1F), nn::feedback()), length);
        wrong += check(world, nn::quantised_sum(world), length);
      }
      return wrong;
    });
  }
}

BOOST_AUTO_TEST_CASE(a_sum_in_eight_bits_is_as_near_as_its_roundings_allow) {
  support::agree<tutti::loopback>(3, [](auto& world) {
    for (std::size_t const length : {0U, 1U, 2U, 1021U}) {
      nn::compressed_synchronous strategy(world, nn::quantised_sum(world), extra_scalars);
      auto const results = sums(strategy, length, 1);
      auto const right = exact(length, 3, 0);
      if (!same_everywhere(world, results) || !attached_are_exact(results, length, 3)) {
        return std::string("other bits on another rank, or others attached");
      }
      for (std::size_t i = 0; i != length; ++i) {
        if (std::abs(double{results[0][i]} - right[i]) > (3 * 0.125 + 3 * 0.125) / 254 * 1.01) {
          return "number " + std::to_string(i) + " of " + std::to_string(length);
        }
      }
    }
    return std::string();
  });
}

BOOST_AUTO_TEST_CASE(ranks_send_as_many_bytes_as_is_said) {
  constexpr std::size_t length = 40'960;
  auto const results = tutti::spawn<tutti::loopback, tutti::traffic_count>(4, [](auto& world) {
    auto const sent_by = [&](auto&& strategy) {
      auto const sent_before = world.trace().outgoing().bytes;
      auto const received_before = world.trace().incoming().bytes;
      sums(strategy, length, 1);
      auto const sent_bytes = world.trace().outgoing().bytes - sent_before;
      return sent_bytes == world.trace().incoming().bytes - received_before ? sent_bytes : 0;
    };
    std::vector<std::uint64_t> sent_bytes;
    sent_bytes.push_back(sent_by(nn::synchronous(world, tutti::direct{})));
    sent_bytes.push_back(sent_by(
        nn::synchronous(world, tutti::direct{}, 0, nn::bucket_progress::between_layers, once{}, extra_scalars)));
    sent_bytes.push_back(sent_by(nn::compressed_synchronous(world, nn::quantised_sum(world), extra_scalars)));
    sent_bytes.push_back(sent_by(
        nn::compressed_synchronous(world, nn::sparse_sum(world, nn::top_k(0.01), nn::feedback()), extra_scalars)));
    return sent_bytes;
  });
  constexpr std::size_t most_attached = 6 * 4;  // sent by a rank that sums one of the two
  for (tutti::rank_type r = 0; r != 4; ++r) {
    BOOST_REQUIRE_MESSAGE(results[r].has_value(), results[r].failure().text);
    auto const& sent_bytes = results[r].value();
    BOOST_TEST(sent_bytes[0] >= 2 * 3 * (length / 4) * 4U);
    BOOST_TEST(sent_bytes[0] <= 2 * 3 * (length / 4 + 1) * 4U);
    BOOST_TEST(sent_bytes[1] <= 2 * 3 * (length / 4) * 2U + most_attached);
    BOOST_TEST(sent_bytes[1] >= 2 * 3 * (length / 4) * 2U);
    BOOST_TEST(sent_bytes[2] >= 2 * 3 * 4 * nn::detail::int8_message::words(length / 4));
    BOOST_TEST(sent_bytes[2] <= 2 * 3 * 4 * nn::detail::int8_message::words(length / 4) + most_attached);
    BOOST_TEST(sent_bytes[3] >= 3 * 4 * (1 + 2 * 410U));
    BOOST_TEST(sent_bytes[3] <= 3 * 4 * (1 + 2 * 410U) + most_attached);
  }
}
