// SPDX-License-Identifier: Apache-2.0
// test: address
//
// Sums of gradients by integers, over worlds of threads.
#include <support/counted_new.hpp>
#include <support/worlds.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/strategy/synchronous/fixed_point.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace nn = tutti::nn;

namespace {

using tutti::rank_type;

constexpr std::size_t extra_scalars = 2;
constexpr double half_of_the_last_bit = 0x1.000001p-24;

/// A rank's contribution: gradients over many decades, and two attached numbers.
std::vector<float> contribution_of(std::size_t n, rank_type rank) {
  nn::random_sequence random(rank + 1);
  std::vector<float> result(n + extra_scalars);
  for (float& number : result) {
    float const x = random.fraction<float>() - 0.5F;
    number = x * std::exp(-20 * random.fraction<float>());
  }
  result[n] = result[n + 1] = static_cast<float>(rank);
  return result;
}

/// The sums by a strategy. Gradients are completed from the end, in strides that differ between ranks.
template <class Strategy>
std::vector<float> sums_of(Strategy& strategy, std::vector<float> const& gradients) {
  std::vector<float> message(gradients.size(), std::nanf(""));
  strategy.begin(message);
  std::size_t first = message.size();
  while (first != 0) {
    std::size_t const next = first - std::min(first, std::size_t{99} + 77 * strategy.rank());
    std::copy(gradients.begin() + static_cast<std::ptrdiff_t>(next),
              gradients.begin() + static_cast<std::ptrdiff_t>(first),
              message.begin() + static_cast<std::ptrdiff_t>(next));
    first = next;
    if (first != 0) {
      strategy.on_completion(first);
    }
  }
  strategy.finish();
  return message;
}

bool have_same_bits(std::vector<float> const& a, std::vector<float> const& b) {
  for (std::size_t i = 0; i != a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) {
      return false;
    }
  }
  return a.size() == b.size();
}

struct exact_sum {
  double value = 0;
  double sizes = 0;
  float largest = 0;
};
exact_sum exactly(std::vector<std::vector<float>> const& contributions, std::size_t i) {
  exact_sum sum;
  for (auto const& contribution : contributions) {
    sum.value += double{contribution[i]};
    sum.sizes += std::abs(double{contribution[i]});
    sum.largest = std::max(sum.largest, std::abs(contribution[i]));
  }
  return sum;
}

std::vector<std::vector<float>> all_of(std::size_t length, rank_type ranks) {
  std::vector<std::vector<float>> result;
  for (rank_type r = 0; r != ranks; ++r) {
    result.push_back(contribution_of(length, r));
  }
  return result;
}

bool attached_are_sums(std::vector<float> const& sums, std::size_t length, rank_type ranks) {
  auto const right = static_cast<float>(ranks * (ranks - 1) / 2);
  return sums[length] == right && sums[length + 1] == right;
}

}  // namespace

/// Errors are at most n / 2 / factor, and after an overflow those of float sums, over any topology and in any buckets.
BOOST_AUTO_TEST_CASE(a_constant_factor_is_as_near_as_it_says_and_counts_what_overflows) {
  for (rank_type const n : {1U, 3U}) {
    support::agree<tutti::loopback>(n, [&](auto& world) -> std::string {
      for (std::size_t const length : {0U, 1U, 2U, 1021U}) {
        auto const contributions = all_of(length, n);
        for (float const factor : {1e3F, 1e8F, 1e10F, 1e13F}) {
          tutti::fixed_point_sum const reduction{factor, n};
          auto const check = [&](auto topology, std::size_t bucket) -> std::string {
            nn::fixed_point strategy(world, topology, nn::constant_factor{factor}, bucket, extra_scalars);
            auto const sums = sums_of(strategy, contributions[world.rank()]);
            std::size_t overflows = 0;
            for (std::size_t i = 0; i != length; ++i) {
              auto const sum = exactly(contributions, i);
              bool const has_overflow = sum.largest > reduction.largest();
              overflows += has_overflow ? 1 : 0;
              double const tolerance =
                  has_overflow ? n * 0x1p-24 * sum.sizes
                               : n * 0.5 / double{factor} + std::abs(double{sums[i]}) * half_of_the_last_bit;
              if (!(std::abs(double{sums[i]} - sum.value) <= tolerance)) {
                return "number " + std::to_string(i) + " of " + std::to_string(length) + " by " +
                       std::to_string(factor);
              }
            }
            if (strategy.overflows() != overflows || !attached_are_sums(sums, length, n)) {
              return "overflows, or what is attached, of " + std::to_string(length);
            }
            return {};
          };
          for (std::size_t const bucket : {0U, 4U, 1024U}) {
            std::string wrong = check(tutti::ring{}, bucket);
            wrong += check(tutti::in_network{}, bucket);
            if (!wrong.empty()) {
              return wrong;
            }
          }
        }
        // Some numbers must overflow, but not all: otherwise the edges are untested.
        if (length > 1000) {
          nn::fixed_point strategy(world, tutti::ring{}, nn::constant_factor{1e10F}, 0, extra_scalars);
          static_cast<void>(sums_of(strategy, contributions[world.rank()]));
          if (strategy.overflows() == 0 || strategy.overflows() == length) {
            return "no factor of these has some overflow";
          }
        }
      }
      return {};
    });
  }
}

/// Errors are within the bound set by the largest number of a block on any rank; nothing overflows.
BOOST_AUTO_TEST_CASE(shared_exponents_are_as_near_as_the_largest_of_a_block_allows) {
  for (rank_type const n : {1U, 3U, 4U}) {
    double const room = std::ldexp(1.0, 30 - static_cast<int>(std::bit_width(n - 1)));
    support::agree<tutti::loopback>(n, [&](auto& world) -> std::string {
      for (std::size_t const length : {0U, 1U, 255U, 257U, 1003U}) {
        auto const contributions = all_of(length, n);
        std::vector<exact_sum> right;
        std::vector<float> sizes;
        for (std::size_t i = 0; i != length; ++i) {
          right.push_back(exactly(contributions, i));
          sizes.push_back(right[i].largest);
        }
        for (std::size_t const block : {1U, 16U, 256U, 100'000U}) {
          for (std::size_t const bucket : {std::size_t{0}, 256 * sizeof(float), std::size_t{1000}}) {
            nn::fixed_point strategy(world, tutti::ring{}, nn::shared_exponents{block}, bucket, extra_scalars);
            auto const sums = sums_of(strategy, contributions[world.rank()]);
            std::size_t const numbers = bucket == 0 ? std::max(length, std::size_t{1}) : bucket / sizeof(float);
            for (std::size_t i = 0; i != length; ++i) {
              // Buckets are cut from the vector's end, blocks from a bucket's beginning.
              std::size_t const end = length - (length - 1 - i) / numbers * numbers;
              std::size_t const begin = end - std::min(end, numbers);
              std::size_t const first = begin + (i - begin) / block * block;
              float const largest =
                  *std::max_element(sizes.begin() + static_cast<std::ptrdiff_t>(first),
                                    sizes.begin() + static_cast<std::ptrdiff_t>(std::min(first + block, end)));
              double const tolerance = n * double{largest} / room + std::abs(double{sums[i]}) * half_of_the_last_bit;
              if (!(std::abs(double{sums[i]} - right[i].value) <= tolerance)) {
                return "number " + std::to_string(i) + " of " + std::to_string(length) + ", blocks of " +
                       std::to_string(block) + ", buckets of " + std::to_string(bucket);
              }
            }
            if (strategy.overflows() != 0 || !attached_are_sums(sums, length, n)) {
              return "overflows, or what is attached, of " + std::to_string(length);
            }
          }
        }
      }
      return {};
    });
  }
}

/// Divergence stays visible: a NaN or infinity appears as in a float sum, and spoils only its block.
BOOST_AUTO_TEST_CASE(what_is_no_number_comes_out) {
  support::agree<tutti::loopback>(3, [](auto& world) -> std::string {
    auto contributions = all_of(1000, 3);
    contributions[1][300] = std::numeric_limits<float>::infinity();
    contributions[2][301] = std::numeric_limits<float>::quiet_NaN();
    contributions[0][999] = std::numeric_limits<float>::max();
    for (nn::fixed_point_scale const scale :
         {nn::fixed_point_scale(nn::constant_factor{1e6F}), nn::fixed_point_scale(nn::shared_exponents{100})}) {
      nn::fixed_point strategy(world, tutti::binary_tree{}, scale, 0, extra_scalars);
      auto const sums = sums_of(strategy, contributions[world.rank()]);
      bool const right = std::isinf(sums[300]) && std::isnan(sums[301]) && !std::isnan(sums[299]) &&
                         sums[999] == std::numeric_limits<float>::max() &&
                         strategy.overflows() == (scale.index() == 0 ? 3U : 100U);
      if (!right) {
        return "scale " + std::to_string(scale.index()) + ", " + std::to_string(strategy.overflows()) + " overflows";
      }
    }
    return {};
  });
}

BOOST_AUTO_TEST_CASE(no_topology_and_no_bucket_is_seen_in_sums_by_a_constant_factor) {
  support::agree<tutti::loopback>(4, [](auto& world) -> std::string {
    auto const contribution = contribution_of(4003, world.rank());
    nn::fixed_point whole(world, tutti::ring{}, nn::constant_factor{1e6F}, 0, extra_scalars);
    nn::fixed_point bucket_strategy(world, tutti::ring{}, nn::constant_factor{1e6F}, 1024, extra_scalars);
    nn::fixed_point tree_strategy(world, tutti::binary_tree{}, nn::constant_factor{1e6F}, 4096, extra_scalars);
    auto const first = sums_of(whole, contribution);
    return have_same_bits(first, sums_of(bucket_strategy, contribution)) &&
                   have_same_bits(first, sums_of(tree_strategy, contribution))
               ? ""
               : "other bits";
  });
}

/// The attached numbers come first; then each bucket's exponents are summed beside the gradients of the bucket before.
/// The order is equal on all ranks, whenever their gradients are complete.
BOOST_AUTO_TEST_CASE(exponents_of_the_next_bucket_are_under_way_when_a_sum_starts) {
  support::agree<tutti::loopback>(3, [](auto& world) -> std::string {
    auto const operations_of = [&](nn::fixed_point_scale scale) {
      nn::fixed_point strategy(world, tutti::ring{}, scale, 1000 * sizeof(float), extra_scalars);
      static_cast<void>(sums_of(strategy, contribution_of(3000, world.rank())));
      std::vector<std::string> names;
      world.recent().for_each([&](auto const& record) { names.emplace_back(record.call_record.reduction); });
      return names;
    };
    auto const ends_with = [](std::vector<std::string> const& names, std::vector<std::string> const& last) {
      return names.size() >= last.size() && std::equal(last.rbegin(), last.rend(), names.rbegin());
    };
    std::string const sum(tutti::fixed_point_sum::name.substr(0, tutti::call::text - 1));
    bool const constant_is_right = ends_with(operations_of(nn::constant_factor{1e6F}), {"sum", sum, sum, sum});
    bool const shared_is_right =
        ends_with(operations_of(nn::shared_exponents{}), {"sum", "max", "max", sum, "max", sum, sum});
    return constant_is_right && shared_is_right ? "" : world.recent().text();
  });
}

BOOST_AUTO_TEST_CASE(a_step_allocates_nothing_once_one_of_its_length_was_made) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    for (nn::fixed_point_scale const scale :
         {nn::fixed_point_scale(nn::constant_factor{1e10F}), nn::fixed_point_scale(nn::shared_exponents{})}) {
      nn::fixed_point strategy(world, tutti::ring{}, scale, 1024, extra_scalars);
      auto const contribution = contribution_of(4003, world.rank());
      auto message = contribution;
      auto const step = [&] {
        std::ranges::copy(contribution, message.begin());
        strategy.begin(message);
        strategy.on_completion(2000);
        strategy.finish();
      };
      for (int k = 0; k != 10; ++k) {
        step();
      }
      long const allocations_before = support::allocations_of_this_thread;
      for (int k = 0; k != 10; ++k) {
        step();
      }
      if (long const more = support::allocations_of_this_thread - allocations_before; more != 0) {
        return std::to_string(more) + " allocations";
      }
    }
    return {};
  });
}

BOOST_AUTO_TEST_CASE(what_means_nothing_is_refused) {
  support::agree<tutti::loopback>(1, [](auto& world) -> std::string {
    int refused_count = 0;
    for (nn::fixed_point_scale const scale :
         {nn::fixed_point_scale(nn::constant_factor{0}), nn::fixed_point_scale(nn::shared_exponents{0})}) {
      try {
        nn::fixed_point strategy(world, tutti::ring{}, scale, 0, extra_scalars);
      } catch (tutti::precondition_error const&) {
        ++refused_count;
      }
    }
    return refused_count == 2 ? "" : "something was accepted";
  });
}
