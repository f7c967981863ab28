// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/direct.hpp>

namespace {

using tutti::direct;
using tutti::rank_type;
using tutti::step;
namespace op = tutti::op;

// Latency and gap are coprime and far apart, so a price a L + b G determines a and b.
constexpr std::uint64_t L = 1'000'000'007;
constexpr std::uint64_t G = 3;

static_assert(laws::hold<op::allreduce>(direct{}, 1, 4));
static_assert(laws::hold<op::reduce_scatter>(direct{}, 1, 4));
static_assert(laws::hold<op::allgather>(direct{}, 1, 4));

BOOST_AUTO_TEST_CASE(is_right_for_more_ranks) {
  laws::check(direct{}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 64});
  BOOST_TEST(bool(laws::run(direct{}, op::allreduce{}, 150)));
}

BOOST_AUTO_TEST_CASE(sends_raw_contributions_and_needs_no_waiting) {
  for (rank_type n = 3; n <= 17; ++n) {
    auto const v = verify(direct{}, op::allreduce{}, n);
    BOOST_TEST((!v.keeps_rank_order && v.raw && v.has_no_write_after_read && !v.self_overlap));
    auto const w = verify(direct{}, op::alltoall{}, n);
    BOOST_TEST((w.has_no_write_after_read && !w.self_overlap));
  }
}

// There are n - 1 rounds, one after the other. Each sends S / n to another rank and takes L + S / n G.
BOOST_AUTO_TEST_CASE(costs_its_closed_form) {
  for (rank_type n = 2; n <= 33; ++n) {
    const std::uint64_t block = 24;
    const std::uint64_t S = block * n;
    const std::uint64_t half = (n - 1) * (L + block * G);
    BOOST_TEST(price(direct{}, op::reduce_scatter{}, n, S, L, G) == half);
    BOOST_TEST(price(direct{}, op::allgather{}, n, S, L, G) == half);
    BOOST_TEST(price(direct{}, op::allreduce{}, n, S, L, G) == 2 * half);
    // All ranks have a partner in n - 1 rounds if n is even. Otherwise one has none in each of n rounds.
    const std::uint64_t rounds = n % 2 == 0 ? n - 1 : n;
    BOOST_TEST(price(direct{}, op::alltoall{}, n, S, L, G) == rounds * (L + block * G));

    auto const c = cost_of(direct{}, op::allreduce{}, n, S);
    BOOST_TEST(c.messages == 2 * n * (n - 1));
    BOOST_TEST(c.elements_sent == 2 * (n - 1) * block);
    BOOST_TEST(c.elements_combined == (n - 1) * block);
    BOOST_TEST(c.scratch == (n == 2 ? 0 : 1));
  }
}

// Would keep rank order: a rank receives contributions outwards from itself. Then all ranks must send before they
// receive, which needs buffers for all messages.
struct in_rank_order {
  static constexpr std::string_view name = "in_rank_order";
  static constexpr bool keeps_rank_order = true;
  static constexpr bool sends_raw_contributions = true;

  constexpr std::uint32_t blocks(op::reduce_scatter, rank_type n) const { return n; }
  constexpr std::uint32_t steps(op::reduce_scatter, rank_type n, rank_type) const { return 2 * (n - 1); }
  constexpr step at(op::reduce_scatter, rank_type n, rank_type me, std::uint32_t i) const {
    using tutti::action;
    using tutti::memory;
    const std::uint32_t k = i < n - 1 ? i : i - (n - 1);
    if (i < n - 1) {
      const rank_type target = k < me ? k : k + 1;
      return {.send = {target, memory::input, {target, 1}}};
    }
    const rank_type source = k < me ? me - 1 - k : k + 1;  // outwards from this rank
    return {.receive = {source, k + 2 == n ? memory::output : memory::work, {me, 1}},
            .action = source < me ? action::fold_left : action::fold_right,
            .local_memory = k == 0 ? memory::input : memory::work,
            .sender_memory = memory::input};
  }
};

BOOST_AUTO_TEST_CASE(rank_order_would_need_buffers) {
  for (rank_type n = 3; n <= 17; ++n) {
    auto const v = tutti::verify(in_rank_order{}, op::reduce_scatter{}, n);
    BOOST_TEST((v.keeps_rank_order && v.raw && v.exact && !v.finishes));
  }
}

}  // namespace
