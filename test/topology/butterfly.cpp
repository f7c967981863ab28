// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/butterfly.hpp>

#include <bit>

namespace {

using tutti::butterfly;
using tutti::rank_type;
using tutti::step;
namespace op = tutti::op;

// Latency and gap are coprime and far apart, so a price a L + b G determines a and b.
constexpr std::uint64_t L = 1'000'000'007;
constexpr std::uint64_t G = 3;

static_assert(laws::hold<op::allreduce>(butterfly{}, 1, 4));
static_assert(laws::hold<op::reduce_scatter>(butterfly{}, 1, 4));
static_assert(laws::hold<op::allgather>(butterfly{}, 1, 4));
static_assert(laws::hold<op::broadcast>(butterfly{}, 1, 4));

BOOST_AUTO_TEST_CASE(is_right_for_more_ranks) {
  laws::check(butterfly{}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128});
  BOOST_TEST(bool(laws::run(butterfly{}, op::allreduce{}, 600)));
}

BOOST_AUTO_TEST_CASE(needs_no_waiting_except_to_broadcast) {
  for (rank_type n = 2; n <= 33; ++n) {
    auto const v = combine(verify(butterfly{}, op::allreduce{}, n), verify(butterfly{}, op::reduce_scatter{}, n));
    BOOST_TEST((v.keeps_rank_order && v.has_no_write_after_read && !v.self_overlap));
  }
  // A rank receives some blocks again that it has sent, perhaps while a peer still reads them.
  BOOST_TEST(!laws::hold<op::broadcast>(butterfly{}, 8, 8).has_no_write_after_read);
}

// For n = 2^k, halving sends S/2, S/4, ..., S/n: k L + (n-1)/n S G. Doubling costs as much. Any other n costs as much
// as the largest 2^k below it, and two messages of the whole vector.
BOOST_AUTO_TEST_CASE(costs_its_closed_form) {
  for (rank_type n = 2; n <= 66; ++n) {
    const std::uint64_t k = std::bit_width(n) - 1U;
    const std::uint64_t q = std::uint64_t{1} << k;
    const std::uint64_t part = 24;
    const std::uint64_t S = part * q;
    const std::uint64_t exchanges = 2 * k * L + 2 * (q - 1) * part * G;
    BOOST_TEST(price(butterfly{}, op::allreduce{}, n, S, L, G) == exchanges + (n == q ? 0 : 2 * (L + S * G)));

    auto const c = cost_of(butterfly{}, op::allreduce{}, n, S);
    BOOST_TEST(c.messages == 2 * (k * q + n - q));
    BOOST_TEST(c.traffic == 2 * (q - 1) * S + 2 * (n - q) * S);
    BOOST_TEST(c.depth == 2 * k + (n == q ? 0 : 2));
    BOOST_TEST(c.elements_combined == (q - 1) * part + (n == q ? 0 : S));
    BOOST_TEST(c.elements_sent == 2 * (q - 1) * part + (n == q ? 0 : S));
  }
}

// For n = 2^k, reduce-scatter is halving and one message of one block. Broadcast sends S/2, S/4, ... down the binomial
// tree, k L + (n-1)/n S G, then runs an allgather, which takes less time because some ranks begin it early.
BOOST_AUTO_TEST_CASE(its_other_operations_cost_their_closed_forms) {
  for (rank_type n = 4; n <= 64; n *= 2) {
    const std::uint64_t k = std::bit_width(n) - 1U;
    const std::uint64_t block = 24;
    const std::uint64_t S = block * n;
    const std::uint64_t half = k * L + (n - 1) * block * G;
    BOOST_TEST(price(butterfly{}, op::reduce_scatter{}, n, S, L, G) == half + L + block * G);
    BOOST_TEST(price(butterfly{}, op::allgather{}, n, S, L, G) == half);
    for (rank_type root = 0; root < n; ++root) {
      const std::uint64_t time = price(butterfly{}, op::broadcast{root}, n, S, L, G);
      BOOST_TEST((half < time && time <= 2 * half));
    }
  }
}

}  // namespace
