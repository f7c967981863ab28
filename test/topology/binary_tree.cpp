// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/binary_tree.hpp>

#include <bit>

namespace {

using tutti::binary_tree;
using tutti::rank_type;
using tutti::step;
namespace op = tutti::op;

// Latency and gap are coprime and far apart, so a price a L + b G determines a and b.
constexpr std::uint64_t L = 1'000'000'007;
constexpr std::uint64_t G = 3;

static_assert(laws::hold<op::allreduce>(binary_tree{}, 1, 4));
static_assert(laws::hold<op::reduce>(binary_tree{}, 1, 4));
static_assert(laws::hold<op::broadcast>(binary_tree{}, 1, 4));
static_assert(laws::hold<op::gather>(binary_tree{}, 1, 4));
static_assert(laws::hold<op::scatter>(binary_tree{}, 1, 4));

BOOST_AUTO_TEST_CASE(is_right_for_more_ranks) {
  laws::check(binary_tree{}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128});
  BOOST_TEST(bool(laws::run(binary_tree{}, op::allreduce{}, 1000)));
}

BOOST_AUTO_TEST_CASE(needs_no_waiting) {
  for (rank_type n = 2; n <= 17; ++n) {
    auto const v = combine(verify(binary_tree{}, op::allreduce{}, n), verify(binary_tree{}, op::gather{n / 2}, n));
    BOOST_TEST((v.keeps_rank_order && v.has_no_write_after_read && !v.self_overlap));
  }
}

// The search tree property: left subtree < me < right subtree, and both are intervals.
BOOST_AUTO_TEST_CASE(subtrees_are_intervals_around_their_root) {
  for (rank_type n = 1; n <= 40; ++n) {
    for (rank_type root = 0; root < n; ++root) {
      const tutti::detail::in_order_tree tree(n, root);
      for (rank_type me = 0; me < n; ++me) {
        auto const subtree = tree.subtree(me);
        std::uint32_t size = 1;
        for (std::uint32_t i = 0; i < tree.children(me); ++i) {
          auto const child = tree.child(me, i);
          auto const child_subtree = tree.subtree(child);
          BOOST_TEST(tree.parent(child) == me);
          BOOST_TEST((child < me
                          ? child_subtree.first == subtree.first && child_subtree.first + child_subtree.count == me
                          : child_subtree.first == me + 1 &&
                                child_subtree.first + child_subtree.count == subtree.first + subtree.count));
          size += child_subtree.count;
        }
        BOOST_TEST(size == subtree.count);
      }
    }
  }
}

// The depth is floor(log2 n) with the root in the middle. A root at the end has one subtree of depth floor(log2 (n-1)),
// so the depth is ceil(log2 n).
BOOST_AUTO_TEST_CASE(is_as_deep_as_it_says) {
  for (rank_type n = 2; n <= 33; ++n) {
    const std::uint64_t floor = std::bit_width(n) - 1U;
    const std::uint64_t ceil = std::bit_width(n - 1);
    BOOST_TEST(cost_of(binary_tree{}, op::allreduce{}, n, 1).depth == 2 * floor);
    BOOST_TEST(cost_of(binary_tree{}, op::reduce{n / 2}, n, 1).depth == floor);
    BOOST_TEST(cost_of(binary_tree{}, op::broadcast{0}, n, 1).depth == ceil);
    for (rank_type root = 0; root < n; ++root) {
      BOOST_TEST(cost_of(binary_tree{}, op::reduce{root}, n, 1).depth <= ceil);
    }
  }
}

// A full tree of k levels: at each of the k - 1 upper levels two messages arrive at once, and the link takes one after
// the other. A level costs L + 2 S G on the way up and on the way down.
BOOST_AUTO_TEST_CASE(costs_its_closed_form) {
  const std::uint64_t S = 1 << 12;
  for (rank_type k = 1; k <= 7; ++k) {
    const rank_type n = (1U << k) - 1;
    const std::uint64_t one_way = (k - 1) * (L + 2 * S * G);
    BOOST_TEST(price(binary_tree{}, op::reduce{n / 2}, n, S, L, G) == one_way);
    BOOST_TEST(price(binary_tree{}, op::broadcast{n / 2}, n, S, L, G) == one_way);
    BOOST_TEST(price(binary_tree{}, op::allreduce{}, n, S, L, G) == 2 * one_way);
  }
  // 2^k ranks: one subtree is a level deeper than the other, so its message comes second and finds a free link. A level
  // costs L + S G while L exceeds the few S G by which the first message is late.
  for (rank_type k = 1; k <= 7; ++k) {
    BOOST_TEST(price(binary_tree{}, op::allreduce{}, 1U << k, S, L, G) == 2 * k * (L + S * G));
  }
  for (rank_type n = 4; n <= 33; ++n) {
    auto const c = cost_of(binary_tree{}, op::allreduce{}, n, S);
    BOOST_TEST(c.messages == 2 * (n - 1));
    BOOST_TEST(c.traffic == 2 * (n - 1) * S);
    BOOST_TEST(c.elements_sent == (n < 6 ? c.elements_sent : 3 * S));  // to the parent and to two children
    BOOST_TEST(c.elements_combined == 2 * S);
    BOOST_TEST(c.scratch == 1);
  }
}

}  // namespace
