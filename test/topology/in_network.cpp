// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/detail/engine/aggregator_share.hpp>
#include <tutti/detail/engine/lift_first.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/selection.hpp>

#include <algorithm>

namespace {

using tutti::in_network;
using tutti::rank_type;
using tutti::step;
namespace op = tutti::op;

static_assert(laws::hold<op::allreduce>(in_network{}, 1, 4));
static_assert(laws::hold<op::reduce>(in_network{}, 1, 4));
static_assert(laws::hold<op::broadcast>(in_network{}, 1, 4));
static_assert(laws::hold<op::allreduce>(tutti::hierarchical{tutti::binary_tree{}, in_network{}, 3}, 1, 4));
static_assert(laws::hold<op::reduce>(tutti::hierarchical{tutti::binary_tree{}, in_network{}, 2}, 1, 4));
static_assert(laws::hold<op::broadcast>(tutti::hierarchical{tutti::binary_tree{}, in_network{}, 2}, 1, 4));

// The schedule of reductions that lift contributions.
using tutti::detail::lift_first;
static_assert(laws::hold<op::allreduce>(lift_first{in_network{}}, 1, 4));
static_assert(laws::hold<op::reduce>(lift_first{in_network{}}, 1, 4));
static_assert(laws::hold<op::allreduce>(lift_first{tutti::hierarchical{tutti::binary_tree{}, in_network{}, 3}}, 1, 4));
static_assert(laws::hold<op::reduce>(lift_first{tutti::hierarchical{tutti::binary_tree{}, in_network{}, 2}}, 1, 4));

// A hierarchical topology has the helpers of Outer, and Inner may have none.
static_assert(tutti::has_aggregators<in_network, op::allreduce> && !tutti::has_aggregators<tutti::star, op::allreduce>);
static_assert(members(in_network{}, op::allreduce{}, 1) == 1 && members(in_network{}, op::allreduce{}, 2) == 3);
static_assert(members(tutti::hierarchical{tutti::ring{}, tutti::ring{}, 2}, op::allreduce{}, 4) == 4);
static_assert(members(tutti::hierarchical{tutti::binary_tree{}, in_network{}, 2}, op::allreduce{}, 4) == 5);
static_assert(members(tutti::hierarchical{tutti::binary_tree{}, in_network{}, 4}, op::allreduce{}, 4) == 4);
static_assert(!tutti::offers<tutti::hierarchical<in_network, tutti::ring>, op::allreduce>);
static_assert(laws::hold<op::allreduce>(tutti::hierarchical{tutti::selection(tutti::schedule_kind::in_network),
                                                            in_network{}, 3},
                                        1, 4));
static_assert(std::same_as<decltype(tutti::hierarchical{tutti::binary_tree{}, in_network{}, 2}.without_aggregators()),
                           tutti::hierarchical<tutti::binary_tree, tutti::star>>);

BOOST_AUTO_TEST_CASE(is_right_for_more_ranks) {
  laws::check(in_network{}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 64});
  laws::check(tutti::hierarchical{tutti::selection(tutti::schedule_kind::in_network), in_network{}, 3},
              {5, 6, 7, 8, 9});
  for (rank_type const ranks_per_host : {2U, 3U, 5U, 16U, 63U}) {
    laws::check(tutti::hierarchical{tutti::binary_tree{}, in_network{}, ranks_per_host},
                {5, 6, 7, 8, 9, 10, 16, 17, 33, 64});
  }
}

BOOST_AUTO_TEST_CASE(keeps_order_and_sends_raw_contributions) {
  for (rank_type n = 2; n <= 17; ++n) {
    auto const v = combine(verify(in_network{}, op::allreduce{}, n), verify(in_network{}, op::reduce{n / 2}, n));
    BOOST_TEST((v.keeps_rank_order && v.raw && v.has_no_write_after_read));
  }
}

// Wrong helpers: one answers before it has all contributions, one forgets a rank, one sends from an empty memory.
struct hasty : in_network {
  using in_network::at;
  constexpr step at(op::allreduce o, rank_type n, rank_type me, std::uint32_t i) const {
    const std::uint32_t swapped_step = i == n - 1 ? n : i == n ? n - 1 : i;
    return in_network::at(o, n, me, me == n ? swapped_step : i);
  }
};
struct forgetful : in_network {
  constexpr std::uint32_t steps(op::allreduce o, rank_type n, rank_type me) const {
    return in_network::steps(o, n, me) - (me == n ? 1 : 0);
  }
};
struct inventive : in_network {
  constexpr step at(op::broadcast o, rank_type n, rank_type me, std::uint32_t i) const {
    step s = in_network::at(o, n, me, i);
    s.send.memory = me == n ? tutti::memory::input : s.send.memory;
    return s;
  }
};
// Wrong lifting: a rank lifts after it has sent, a rank does not lift, a helper expects contributions.
struct late : lift_first<in_network> {
  constexpr step at(op::allreduce o, rank_type n, rank_type me, std::uint32_t i) const {
    return lift_first<in_network>::at(o, n, me, me == 0 && i < 2 ? 1 - i : i);
  }
};
struct not_lifting : lift_first<in_network> {
  constexpr step at(op::allreduce o, rank_type n, rank_type me, std::uint32_t i) const {
    return me == 0 && i == 0 ? step{} : lift_first<in_network>::at(o, n, me, i);
  }
};
struct expecting_contributions : lift_first<in_network> {
  constexpr step at(op::allreduce o, rank_type n, rank_type me, std::uint32_t i) const {
    return me == n ? inner.at(o, n, me, i) : lift_first<in_network>::at(o, n, me, i);
  }
};
BOOST_AUTO_TEST_CASE(what_is_lifted_is_proved_like_the_rest) {
  for (rank_type const n : {2U, 3U, 8U}) {
    BOOST_TEST(!tutti::verify(late{}, op::allreduce{}, n));
    BOOST_TEST(!tutti::verify(not_lifting{}, op::allreduce{}, n));
    BOOST_TEST(!tutti::verify(expecting_contributions{}, op::allreduce{}, n));
  }
  laws::check(lift_first{in_network{}}, {5, 6, 7, 8, 9, 10, 17, 33, 64});
  for (rank_type const ranks_per_host : {2U, 3U}) {
    laws::check(lift_first{tutti::hierarchical{tutti::binary_tree{}, in_network{}, ranks_per_host}}, {5, 6, 7, 8, 9});
  }
}

BOOST_AUTO_TEST_CASE(helpers_are_proved_like_ranks) {
  for (rank_type const n : {2U, 3U, 8U}) {
    BOOST_TEST(!verify(hasty{}, op::allreduce{}, n));
    BOOST_TEST(!verify(forgetful{}, op::allreduce{}, n));
    BOOST_TEST(!verify(inventive{}, op::broadcast{1}, n));
  }
}

// Latency and gap are coprime and far apart, so a price a L + b G determines a and b.
constexpr std::uint64_t L = 1'000'000'007;
constexpr std::uint64_t G = 3;

BOOST_AUTO_TEST_CASE(costs_its_closed_form) {
  for (rank_type n = 2; n <= 33; ++n) {
    for (std::uint64_t const S : {std::uint64_t{24}, std::uint64_t{1} << 20}) {
      const std::uint64_t packet = std::min<std::uint64_t>(S, tutti::aggregator_packet_bytes);
      BOOST_TEST(price(in_network{}, op::allreduce{}, n, S, L, G) == S * G + 2 * L + packet * G);
      BOOST_TEST(price(in_network{}, op::reduce{n / 2}, n, S, L, G) == S * G + 2 * L + packet * G);
      BOOST_TEST(price(in_network{}, op::broadcast{n / 2}, n, S, L, G) == S * G + 2 * L + packet * G);
      BOOST_TEST((cost_of(in_network{}, op::allreduce{}, n, S) == tutti::cost{.rounds = 2,
                                                                              .depth = 2,
                                                                              .messages = n,
                                                                              .traffic = n * S,
                                                                              .messages_sent = 1,
                                                                              .elements_sent = S,
                                                                              .elements_received = S,
                                                                              .elements_combined = 0,
                                                                              .scratch = 1}));
    }
  }
  // The largest gain over a ring: except for the first packet, sending and receiving overlap.
  const std::uint64_t S = 16 << 20;
  auto const beyond_packet = price(in_network{}, op::allreduce{}, 16, S, 0, G) - tutti::aggregator_packet_bytes * G;
  BOOST_TEST(price(tutti::ring{}, op::allreduce{}, 16, S, 0, G) * 16 == beyond_packet * 2 * 15);
}

}  // namespace
