// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/detail/topology/pairing.hpp>
#include <tutti/topology/doubling.hpp>

#include <algorithm>
#include <bit>

namespace {

using tutti::doubling;
using tutti::rank_type;
using tutti::step;
namespace op = tutti::op;

// Latency and gap are coprime and far apart, so a price a L + b G determines a and b.
constexpr std::uint64_t L = 1'000'000'007;
constexpr std::uint64_t G = 3;

static_assert(laws::hold<op::allreduce>(doubling{}, 1, 4));
static_assert(laws::hold<op::allgather>(doubling{}, 1, 4));
static_assert(laws::hold<op::reduce>(doubling{}, 1, 4));
static_assert(laws::hold<op::broadcast>(doubling{}, 1, 4));
static_assert(laws::hold<op::gather>(doubling{}, 1, 4));
static_assert(laws::hold<op::scatter>(doubling{}, 1, 4));
static_assert(laws::hold<op::alltoall>(doubling{}, 1, 4));
static_assert(laws::hold<op::scan>(doubling{}, 1, 4));
static_assert(laws::hold<op::exscan>(doubling{}, 1, 4));

// Groups are the largest power of two, each has its leader and at most one follower, which is the leader's neighbour,
// and groups are in rank order.
BOOST_AUTO_TEST_CASE(pairs_any_number_of_ranks) {
  for (rank_type n = 1; n <= 130; ++n) {
    tutti::detail::pairing const pairs(n);
    BOOST_TEST(pairs.groups() == rank_type{1} << pairs.log());
    BOOST_TEST((pairs.groups() <= n && n < 2 * pairs.groups()));
    BOOST_TEST(pairs.leader(pairs.groups()) == n);
    for (rank_type me = 0; me < n; ++me) {
      rank_type const group = pairs.group(me);
      BOOST_TEST(pairs.leader(group) == (pairs.follows(me) ? me - 1 : me));
      BOOST_TEST(pairs.is_pair(group) == (pairs.leader(group + 1) - pairs.leader(group) == 2));
    }
  }
}

BOOST_AUTO_TEST_CASE(is_right_for_more_ranks) {
  laws::check(doubling{}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100});
  BOOST_TEST(bool(laws::run(doubling{}, op::allreduce{}, 1000)));
}

// An exchange overwrites the blocks that it sends. No other write can overtake a read.
BOOST_AUTO_TEST_CASE(exchanges_in_place) {
  for (rank_type n = 2; n <= 17; ++n) {
    auto const v = verify(doubling{}, op::allreduce{}, n);
    BOOST_TEST((v.keeps_rank_order && v.has_no_write_after_read && v.self_overlap));
    auto const w = combine(verify(doubling{}, op::allgather{}, n), verify(doubling{}, op::scatter{n / 2}, n));
    BOOST_TEST((w.has_no_write_after_read && !w.self_overlap));
    // Each round of alltoall uses the same blocks of `output`, for which it waits.
    auto const x = verify(doubling{}, op::alltoall{}, n);
    BOOST_TEST((!x.has_no_write_after_read && !x.self_overlap));
  }
}

BOOST_AUTO_TEST_CASE(every_rank_can_be_the_root_of_its_tree) {
  for (rank_type n = 1; n <= 40; ++n) {
    for (rank_type root = 0; root < n; ++root) {
      const tutti::detail::binomial_tree tree(n, root);
      BOOST_TEST(tree.subtree(root).count == n);
      for (rank_type me = 0; me < n; ++me) {
        auto const subtree = tree.subtree(me);
        rank_type first = me;
        rank_type last = me + 1;
        for (std::uint32_t i = 0; i < tree.children(me); ++i) {
          auto const child_subtree = tree.subtree(tree.child(me, i));
          BOOST_TEST(tree.parent(tree.child(me, i)) == me);
          BOOST_TEST((child_subtree.first + child_subtree.count == first ||
                      child_subtree.first == last));  // the child can be folded next
          first = std::min(first, child_subtree.first);
          last = std::max(last, child_subtree.first + child_subtree.count);
        }
        BOOST_TEST((subtree.first == first && subtree.first + subtree.count == last));
      }
    }
  }
}

// For n = 2^k there are k exchanges of the whole vector, L + S G each. Otherwise the number of groups is the largest
// 2^k below n, and two messages of the whole vector are added: k + 2 rounds, if more than half of the groups are pairs.
// If fewer are, single ranks start early, which saves at most one round.
BOOST_AUTO_TEST_CASE(costs_its_closed_form) {
  for (rank_type n = 2; n <= 66; ++n) {
    const std::uint64_t block = 24;
    const std::uint64_t S = block * n;
    const std::uint64_t k = std::bit_width(n) - 1U;
    const std::uint64_t ceil = std::bit_width(n - 1);
    const std::uint64_t q = std::uint64_t{1} << k;
    const std::uint64_t round = L + S * G;
    const std::uint64_t time = price(doubling{}, op::allreduce{}, n, S, L, G);
    if (n == q) {
      BOOST_TEST(time == k * round);  // log2 n (L + S G)
    } else if (n - q > q / 2) {
      BOOST_TEST(time == (k + 2) * round);
    } else {
      BOOST_TEST(((k + 1) * round <= time && time < (k + 2) * round));
    }

    auto const c = cost_of(doubling{}, op::allreduce{}, n, S);
    BOOST_TEST(c.messages == q * k + 2 * (n - q));
    BOOST_TEST(c.elements_sent == (k + (n == q ? 0 : 1)) * S);
    BOOST_TEST(c.elements_combined == (k + (n == q ? 0 : 1)) * S);
    BOOST_TEST(c.scratch == (n == 2 ? 0 : 1));

    // Allgather sends 1, 2, 4, ... blocks and finally the rest, n - 1 in total.
    BOOST_TEST(price(doubling{}, op::allgather{}, n, S, L, G) == ceil * L + (n - 1) * block * G);

    // Round i of alltoall moves the blocks whose distance has bit i, half of all for n = 2^k.
    std::uint64_t sent_blocks = 0;
    for (rank_type distance = 0; distance < n; ++distance) {
      sent_blocks += static_cast<unsigned>(std::popcount(distance));
    }
    auto const alltoall = cost_of(doubling{}, op::alltoall{}, n, S);
    BOOST_TEST(price(doubling{}, op::alltoall{}, n, S, L, G) == ceil * L + sent_blocks * block * G);
    BOOST_TEST((n != q || sent_blocks * block == k * S / 2));
    BOOST_TEST((alltoall.messages == n * ceil && alltoall.scratch == n));

    // Scan is a round for each distance 1, 2, 4, ... below n; rank r sends if there is a rank so far above it. Exscan
    // is one round more, among one rank less. Rank 0 sends without waiting, so a last round that only needs it begins
    // early.
    auto const scan_messages = [](rank_type ranks) {
      std::uint64_t sum = 0;
      for (rank_type distance = 1; distance < ranks; distance *= 2) {
        sum += ranks - distance;
      }
      return sum;
    };
    auto const scan = cost_of(doubling{}, op::scan{}, n, S);
    auto const exscan = cost_of(doubling{}, op::exscan{}, n, S);
    std::uint64_t const scan_time = price(doubling{}, op::scan{}, n, S, L, G);
    BOOST_TEST((scan.rounds == ceil && scan.messages == scan_messages(n)));
    BOOST_TEST((exscan.rounds == 1U + std::bit_width(n - 2) && exscan.messages == n - 1 + scan_messages(n - 1)));
    BOOST_TEST((n == q ? scan_time == k * round : scan_time <= ceil * round));
    BOOST_TEST(price(doubling{}, op::exscan{}, n, S, L, G) <= exscan.rounds * round);
  }
}

// The unpipelined binomial tree, n = 2^k: the root takes part in k rounds, one after the other, of the whole vector. It
// costs log2 n (L + S G) up and as much down, for every root.
BOOST_AUTO_TEST_CASE(its_trees_cost_their_closed_form) {
  for (rank_type n = 2; n <= 64; n *= 2) {
    const std::uint64_t block = 24;
    const std::uint64_t S = block * n;
    const std::uint64_t k = std::bit_width(n) - 1U;
    for (rank_type root = 0; root < n; ++root) {
      const std::uint64_t up = price(doubling{}, op::reduce{root}, n, S, L, G);
      const std::uint64_t down = price(doubling{}, op::broadcast{root}, n, S, L, G);
      BOOST_TEST(up + down == 2 * k * (L + S * G));
      // Gather receives half of the vector last and a quarter before, (n-1)/n S in total.
      BOOST_TEST(price(doubling{}, op::gather{root}, n, S, L, G) == k * L + (n - 1) * block * G);
      BOOST_TEST(price(doubling{}, op::scatter{root}, n, S, L, G) == k * L + (n - 1) * block * G);
    }
  }
  for (rank_type n = 2; n <= 33; ++n) {
    for (rank_type root = 0; root < n; ++root) {
      BOOST_TEST(cost_of(doubling{}, op::reduce{root}, n, 1).rounds == static_cast<unsigned>(std::bit_width(n - 1)));
      BOOST_TEST(cost_of(doubling{}, op::reduce{root}, n, 1).messages == n - 1);
    }
  }
}

}  // namespace
