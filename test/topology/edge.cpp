// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/detail/topology/edge.hpp>

namespace {

using tutti::detail::edge;
namespace op = tutti::op;

static_assert(laws::hold<op::transfer>(edge{}, 1, 4));  // every pair of ranks

BOOST_AUTO_TEST_CASE(is_right_for_more_ranks) {
  laws::check(edge{}, {5, 6, 7, 8, 9, 10, 17, 33});
}

// A transfer is one message of L + S G. A transfer to oneself is none.
BOOST_AUTO_TEST_CASE(costs_one_message) {
  for (tutti::rank_type target = 0; target < 5; ++target) {
    const std::uint64_t messages = target == 2 ? 0 : 1;
    BOOST_TEST(tutti::price(edge{}, op::transfer{2, target}, 5, 100, 1000, 3) == messages * 1300);
    BOOST_TEST(tutti::cost_of(edge{}, op::transfer{2, target}, 5, 100).messages == messages);
  }
}

}  // namespace
