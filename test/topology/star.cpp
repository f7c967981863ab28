// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/star.hpp>

namespace {

using tutti::rank_type;
using tutti::star;
using tutti::step;
namespace op = tutti::op;

// Latency and gap are coprime and far apart, so a price a L + b G determines a and b.
constexpr std::uint64_t L = 1'000'000'007;
constexpr std::uint64_t G = 3;

static_assert(laws::hold<op::allreduce>(star{}, 1, 4));
static_assert(laws::hold<op::reduce>(star{}, 1, 4));
static_assert(laws::hold<op::broadcast>(star{}, 1, 4));
static_assert(laws::hold<op::reduce_scatter>(star{}, 1, 4));
static_assert(laws::hold<op::allgather>(star{}, 1, 4));
static_assert(laws::hold<op::gather>(star{}, 1, 4));
static_assert(laws::hold<op::scatter>(star{}, 1, 4));

BOOST_AUTO_TEST_CASE(is_right_for_more_ranks) {
  laws::check(star{}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 64, 100});
  BOOST_TEST(bool(laws::run(star{}, op::allreduce{}, 1000)));
}

BOOST_AUTO_TEST_CASE(keeps_order_sends_raw_contributions_and_needs_no_waiting) {
  for (rank_type n = 2; n <= 17; ++n) {
    auto const v = combine(verify(star{}, op::allreduce{}, n), verify(star{}, op::reduce{n / 2}, n));
    BOOST_TEST((v.keeps_rank_order && v.raw && v.has_no_write_after_read && !v.self_overlap));
  }
}

// Incast: n - 1 messages reach the link of the server at once, after L, and take S G each. Then it sends as many
// messages, and the last one takes another L.
BOOST_AUTO_TEST_CASE(costs_its_closed_form) {
  for (rank_type n = 2; n <= 33; ++n) {
    const std::uint64_t block = 24;
    const std::uint64_t S = block * n;
    const std::uint64_t one_way = L + (n - 1) * S * G;
    BOOST_TEST(price(star{}, op::allreduce{}, n, S, L, G) == 2 * one_way);
    for (rank_type const root : {rank_type{0}, n / 2, n - 1}) {
      BOOST_TEST(price(star{}, op::reduce{root}, n, S, L, G) == one_way);
      BOOST_TEST(price(star{}, op::broadcast{root}, n, S, L, G) == one_way);
      BOOST_TEST(price(star{}, op::gather{root}, n, S, L, G) == L + (n - 1) * block * G);
      BOOST_TEST(price(star{}, op::scatter{root}, n, S, L, G) == L + (n - 1) * block * G);
    }
    BOOST_TEST(price(star{}, op::reduce_scatter{}, n, S, L, G) == one_way + L + (n - 1) * block * G);
    BOOST_TEST(price(star{}, op::allgather{}, n, S, L, G) ==
               L + (n - 1) * block * G + L + (n - 1) * (n - 1) * block * G);

    auto const c = cost_of(star{}, op::allreduce{}, n, S);
    BOOST_TEST((c == tutti::cost{.rounds = 2 * (n - 1),
                                 .depth = 2,
                                 .messages = 2 * (n - 1),
                                 .traffic = 2 * (n - 1) * S,
                                 .messages_sent = n - 1,
                                 .elements_sent = (n - 1) * S,
                                 .elements_received = (n - 1) * S,
                                 .elements_combined = (n - 1) * S,
                                 .scratch = n == 2 ? 0U : 1U}));
  }
}

}  // namespace
