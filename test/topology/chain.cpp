// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/detail/topology/prefix.hpp>
#include <tutti/topology/chain.hpp>

#include <algorithm>

namespace {

using tutti::chain;
using tutti::rank_type;
using tutti::step;
namespace op = tutti::op;

// Latency and gap are coprime and far apart, so a price a L + b G determines a and b.
constexpr std::uint64_t L = 1'000'000'007;
constexpr std::uint64_t G = 3;

static_assert(laws::hold<op::allreduce>(chain{}, 1, 4));
static_assert(laws::hold<op::reduce>(chain{}, 1, 4));
static_assert(laws::hold<op::broadcast>(chain{}, 1, 4));
static_assert(laws::hold<op::gather>(chain{}, 1, 4));
static_assert(laws::hold<op::scatter>(chain{}, 1, 4));
static_assert(laws::hold<op::scan>(chain{}, 1, 4));
static_assert(laws::hold<op::exscan>(chain{}, 1, 4));

BOOST_AUTO_TEST_CASE(is_right_for_more_ranks) {
  laws::check(chain{}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 64});
  BOOST_TEST(bool(laws::run(chain{}, op::allreduce{}, 600)));
}

BOOST_AUTO_TEST_CASE(needs_no_waiting) {
  for (rank_type n = 2; n <= 17; ++n) {
    auto const v = combine(verify(chain{}, op::allreduce{}, n), verify(chain{}, op::scatter{n / 2}, n));
    BOOST_TEST((v.keeps_rank_order && v.has_no_write_after_read && !v.self_overlap));
  }
}

// A rank finishes its prefix after it has sent it, so in place it waits for the reader. Exscan exchanges contributions.
BOOST_AUTO_TEST_CASE(scans_in_place) {
  for (rank_type n = 3; n <= 17; ++n) {
    auto const v = verify(chain{}, op::scan{}, n);
    BOOST_TEST((v.keeps_rank_order && !v.has_no_write_after_read && !v.self_overlap));
    auto const w = verify(chain{}, op::exscan{}, n);
    BOOST_TEST((w.keeps_rank_order && !w.has_no_write_after_read && w.self_overlap));
  }
}

// A hop takes L + S G. If both arms are equally long, their messages reach the root at once, and the second one takes
// S G more. So it is on the way back.
BOOST_AUTO_TEST_CASE(costs_its_closed_form) {
  for (rank_type n = 2; n <= 33; ++n) {
    const std::uint64_t block = 24;
    const std::uint64_t S = block * n;
    const std::uint64_t hop = L + S * G;
    for (rank_type root = 0; root < n; ++root) {
      const rank_type longer = std::max(root, n - 1 - root);
      const std::uint64_t tie = 2 * root == n - 1 ? S * G : 0;
      BOOST_TEST(price(chain{}, op::reduce{root}, n, S, L, G) == longer * hop + tie);
      BOOST_TEST(price(chain{}, op::broadcast{root}, n, S, L, G) == longer * hop + tie);
    }
    const std::uint64_t tie = n % 2 == 1 ? S * G : 0;
    BOOST_TEST(price(chain{}, op::allreduce{}, n, S, L, G) == 2 * (n / 2 * hop + tie));

    // Blocks stream through the arm: n - 1 hops take L each, and n - 1 blocks take S / n G each.
    const std::uint64_t stream = (n - 1) * (L + block * G);
    BOOST_TEST(price(chain{}, op::gather{0}, n, S, L, G) == stream);
    BOOST_TEST(price(chain{}, op::scatter{n - 1}, n, S, L, G) == stream);

    auto const c = cost_of(chain{}, op::allreduce{}, n, S);
    BOOST_TEST(c.depth == 2 * (n / 2));
    BOOST_TEST(c.messages == 2 * (n - 1));
    BOOST_TEST(c.elements_sent == (n == 2 ? 1 : 2) * S);
    BOOST_TEST(c.elements_combined == (n == 2 ? 1 : 2) * S);

    BOOST_TEST(price(chain{}, op::scan{}, n, S, L, G) == (n - 1) * hop);
    BOOST_TEST(price(chain{}, op::exscan{}, n, S, L, G) == (n - 1) * hop);
    BOOST_TEST(cost_of(chain{}, op::scan{}, n, S).messages == n - 1);
    BOOST_TEST(cost_of(chain{}, op::exscan{}, n, S).messages == 2 * n - 3);
  }
}

}  // namespace
