// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/double_tree.hpp>

#include <bit>
#include <vector>

namespace {

using tutti::double_tree;
using tutti::no_rank;
using tutti::rank_type;
using tutti::detail::two_trees;
namespace op = tutti::op;

// Latency and gap are coprime and far apart, so a price a L + b G determines a and b.
constexpr std::uint64_t L = 1'000'000'007;
constexpr std::uint64_t G = 3;

static_assert(laws::hold<op::allreduce>(double_tree{}, 1, 4));
static_assert(laws::hold<op::reduce>(double_tree{}, 1, 4));
static_assert(laws::hold<op::broadcast>(double_tree{}, 1, 4));

BOOST_AUTO_TEST_CASE(is_right_for_more_ranks) {
  laws::check(double_tree{}, {5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,  18, 19,
                              20, 21, 22, 23, 31, 32, 33, 34, 63, 64, 65, 66, 100, 128});
  BOOST_TEST(bool(laws::run(double_tree{}, op::allreduce{}, 1000)));
  BOOST_TEST(bool(laws::run(double_tree{}, op::reduce{500}, 999)));
}

BOOST_AUTO_TEST_CASE(needs_no_waiting) {
  for (rank_type n = 2; n <= 33; ++n) {
    auto const v = combine(verify(double_tree{}, op::allreduce{}, n), verify(double_tree{}, op::reduce{n / 2}, n));
    BOOST_TEST((v.has_no_write_after_read && !v.self_overlap));
    BOOST_TEST(verify(double_tree{}, op::broadcast{n - 1}, n).has_no_write_after_read);
  }
}

// Every rank but the root is in each tree once and has children in at most one of them. It neither sends nor receives
// two messages of one colour. The parity of the time of an edge is its colour.
BOOST_AUTO_TEST_CASE(trees_complement_each_other) {
  for (rank_type n = 1; n <= 70; ++n) {
    for (rank_type const root : {no_rank, rank_type{0}, n / 2, n - 1}) {
      const two_trees trees(n, root);
      std::vector<int> children[2] = {std::vector<int>(n), std::vector<int>(n)};
      std::vector<int> arrivals[2] = {std::vector<int>(n), std::vector<int>(n)};  // one for each colour
      for (rank_type me = 0; me < n; ++me) {
        if (me == root) {
          continue;
        }
        std::uint32_t colours[2];
        for (std::uint32_t tree = 0; tree < 2; ++tree) {
          const two_trees::edge_above edge{tree, trees.place(tree, me)};
          BOOST_TEST(trees.at(edge) == me);
          colours[tree] = trees.time(edge) % 2;
          if (rank_type const parent = trees.parent(edge); parent != no_rank) {
            ++children[tree][parent];
            ++arrivals[colours[tree]][parent];
            if (parent != root) {
              const two_trees::edge_above next{tree, trees.place(tree, parent)};
              BOOST_TEST(trees.time(edge) < trees.time(next));
            }
          }
        }
        BOOST_TEST(colours[0] != colours[1]);
      }
      for (rank_type me = 0; me < n; ++me) {
        BOOST_TEST((arrivals[0][me] <= 1 && arrivals[1][me] <= 1));
        BOOST_TEST((me == root || children[0][me] == 0 || children[1][me] == 0));
        BOOST_TEST((me != root || (children[0][me] <= 1 && children[1][me] <= 1)));
      }
    }
  }
}

// Each half crosses n - 1 edges up and n - 1 down. The busiest link carries the vector once each way in reduce and
// broadcast, and twice in allreduce. In a binary tree it carries the vector two and three times.
BOOST_AUTO_TEST_CASE(no_link_carries_more_than_the_vector) {
  const std::uint64_t S = 1 << 12;
  for (rank_type n = 3; n <= 70; ++n) {
    auto const total = cost_of(double_tree{}, op::allreduce{}, n, S);
    BOOST_TEST(total.messages == 4 * (n - 1));
    BOOST_TEST(total.traffic == 2 * (n - 1) * S);
    BOOST_TEST(total.elements_sent == (n < 5 ? 3 * S / 2 : 2 * S));
    BOOST_TEST(total.elements_received == (n < 5 ? 3 * S / 2 : 2 * S));
    BOOST_TEST(total.elements_combined == S);
    BOOST_TEST(total.scratch == 1);
    for (rank_type const root : {rank_type{0}, n / 2, n - 1}) {
      auto const up = cost_of(double_tree{}, op::reduce{root}, n, S);
      BOOST_TEST((up.messages == 2 * (n - 1) && up.traffic == (n - 1) * S && up.elements_combined == S));
      BOOST_TEST((up.elements_sent == S && up.elements_received == S && up.scratch == 1));
      auto const down = cost_of(double_tree{}, op::broadcast{root}, n, S);
      BOOST_TEST((down.messages == 2 * (n - 1) && down.traffic == (n - 1) * S));
      BOOST_TEST((down.elements_sent == S && down.elements_received == S));
    }
  }
}

BOOST_AUTO_TEST_CASE(is_as_deep_as_it_says) {
  auto const log2 = [](std::uint64_t x) { return std::bit_width(x) - 1U; };
  for (rank_type n = 3; n <= 130; ++n) {
    BOOST_TEST(cost_of(double_tree{}, op::allreduce{}, n, 2).depth == 2 * log2(n) + 2);
    BOOST_TEST(cost_of(double_tree{}, op::reduce{n / 3}, n, 2).depth == log2(n - 1) + 2);
    BOOST_TEST(cost_of(double_tree{}, op::broadcast{n / 3}, n, 2).depth == log2(n - 1) + 2);
  }
  // A level takes two rounds, of half a vector each.
  for (rank_type n = 4; n <= 130; ++n) {
    auto const k = log2(n);
    BOOST_TEST(cost_of(double_tree{}, op::allreduce{}, n, 2).rounds == 4 * k - (n < (1U << k) + 2 ? 2U : 0U));
  }
  for (rank_type n = 7; n <= 130; ++n) {
    auto const k = log2(n + 1);
    BOOST_TEST(cost_of(double_tree{}, op::reduce{n - 1}, n, 2).rounds == 2 * k + (n < (1U << k) + 3 ? 0U : 1U));
  }
}

// The price of one segment: a level costs half a vector, or two halves if both children are late.
BOOST_AUTO_TEST_CASE(costs_its_closed_form) {
  const std::uint64_t S = 1 << 12;
  const std::uint64_t half = S / 2 * G;
  for (rank_type k = 1; k <= 7; ++k) {
    BOOST_TEST(price(double_tree{}, op::allreduce{}, 1U << k, S, L, G) == (2 * k + 2) * (L + half));
  }
  for (rank_type k = 2; k <= 7; ++k) {
    BOOST_TEST(price(double_tree{}, op::allreduce{}, (1U << k) - 1, S, L, G) == 2 * k * L + 4 * (k - 1) * half);
    for (rank_type const root : {0U, 3U, 1U << k}) {
      BOOST_TEST(price(double_tree{}, op::reduce{root}, (1U << k) + 1, S, L, G) == (k + 2) * L + (k + 3) * half);
      BOOST_TEST(price(double_tree{}, op::broadcast{root}, (1U << k) + 1, S, L, G) == (k + 2) * L + (k + 3) * half);
    }
  }
}

}  // namespace
