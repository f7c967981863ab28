// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/ring.hpp>

namespace {

using tutti::rank_type;
using tutti::ring;
using tutti::step;
namespace op = tutti::op;

// Latency and gap are coprime and far apart, so a price a L + b G determines a and b.
constexpr std::uint64_t L = 1'000'000'007;
constexpr std::uint64_t G = 3;

static_assert(laws::hold<op::allreduce>(ring{}, 1, 4));
static_assert(laws::hold<op::reduce_scatter>(ring{}, 1, 4));
static_assert(laws::hold<op::allgather>(ring{}, 1, 4));

BOOST_AUTO_TEST_CASE(is_right_for_more_ranks) {
  laws::check(ring{}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 64});
  BOOST_TEST(bool(laws::run(ring{}, op::allreduce{}, 200)));
}

// The ring does not keep order. No write overtakes a reader, because a block that was sent returns only after it has
// been around.
BOOST_AUTO_TEST_CASE(combines_out_of_order_and_needs_no_waiting) {
  for (rank_type n = 3; n <= 17; ++n) {
    auto const v = verify(ring{}, op::allreduce{}, n);
    BOOST_TEST((!v.keeps_rank_order && !v.raw && v.has_no_write_after_read && !v.self_overlap));
  }
}

// Each round sends one block of S / n to the next rank and waits for the previous round: L + S / n G. The first n - 1
// rounds reduce, and the others distribute the results.
BOOST_AUTO_TEST_CASE(costs_its_closed_form) {
  for (rank_type n = 2; n <= 33; ++n) {
    const std::uint64_t block = 24;
    const std::uint64_t S = block * n;
    const std::uint64_t half = (n - 1) * (L + block * G);
    BOOST_TEST(price(ring{}, op::reduce_scatter{}, n, S, L, G) == half);
    BOOST_TEST(price(ring{}, op::allgather{}, n, S, L, G) == half);
    BOOST_TEST(price(ring{}, op::allreduce{}, n, S, L, G) == 2 * half);  // 2 (n-1) L + 2 (n-1)/n S G

    auto const c = cost_of(ring{}, op::allreduce{}, n, S);
    const std::uint64_t r = 2 * (n - 1);
    BOOST_TEST((c == tutti::cost{.rounds = r,
                                 .depth = r,
                                 .messages = n * r,
                                 .traffic = S * r,
                                 .messages_sent = r,
                                 .elements_sent = r * block,
                                 .elements_received = r * block,
                                 .elements_combined = r / 2 * block,
                                 .scratch = n - 2}));

    // The first block takes n - 1 hops of L + S / n G; each other block arrives S / n G after its predecessor.
    const std::uint64_t stream = (n - 1) * L + 2 * (n - 1) * block * G;
    for (rank_type const root : {rank_type{0}, n / 2, n - 1}) {
      BOOST_TEST(price(ring{}, op::reduce{root}, n, S, L, G) == stream);
      BOOST_TEST(price(ring{}, op::broadcast{root}, n, S, L, G) == stream);
    }
  }
}

}  // namespace
