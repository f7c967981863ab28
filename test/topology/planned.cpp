// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE topology_planned
#include <laws/topology.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/planned.hpp>
#include <tutti/topology/ring.hpp>

#include <vector>

namespace {

using tutti::rank_type;
using tutti::step;
namespace op = tutti::op;

// The steps of a plan, as constants.
static_assert([] {
  const tutti::plan p(tutti::ring{}, op::allreduce{}, 5, 2);
  return p.steps(op::allreduce{}, 5, 2) == 8 &&
         p.at(op::allreduce{}, 5, 2, 3) == tutti::ring{}.at(op::allreduce{}, 5, 2, 3);
}());
static_assert(!decltype(tutti::plan(tutti::ring{}, op::allreduce{}, 2, 0))::keeps_order);
static_assert(decltype(tutti::plan(tutti::butterfly{}, op::allreduce{}, 2, 0))::keeps_order);
static_assert(decltype(tutti::plan(tutti::direct{}, op::allreduce{}, 2, 0))::sends_raw_contributions);
static_assert(std::is_trivially_copyable_v<tutti::planned<true>>);

template <class Topology, class Op>
bool same(Topology const& topology, Op const& op, rank_type n) {
  for (rank_type me = 0; me < n; ++me) {
    const tutti::plan own(topology, op, n, me);
    const tutti::planned view = own.view();
    if (own.blocks(op, n) != topology.blocks(op, n) || view.blocks(op, n) != topology.blocks(op, n) ||
        own.steps(op, n, me) != topology.steps(op, n, me) || view.steps(op, n, me) != topology.steps(op, n, me)) {
      return false;
    }
    for (std::uint32_t i = 0; i < topology.steps(op, n, me); ++i) {
      const step s = topology.at(op, n, me, i);
      if (own.at(op, n, me, i) != s || view.at(op, n, me, i) != s) {
        return false;
      }
    }
  }
  return true;
}

template <class Topology>
void check_same() {
  tutti::symbolic::for_each_offered<Topology>([]<class Op>() {
    for (rank_type n = 1; n <= 9; ++n) {
      tutti::symbolic::at_every_root<Op>(n, [n](Op const& op) { BOOST_TEST(same(Topology{}, op, n)); });
    }
  });
}

BOOST_AUTO_TEST_CASE(is_the_schedule_that_it_was_made_from) {
  check_same<tutti::ring>();
  check_same<tutti::binary_tree>();
  check_same<tutti::butterfly>();
  check_same<tutti::direct>();
}

/// All ranks' plans at once, so that the verifier can run them.
struct all_planned {
  static constexpr std::string_view name = "all planned";
  static constexpr bool keeps_order = true;
  static constexpr bool sends_raw_contributions = false;

  std::vector<tutti::planned<true>> views;

  std::uint32_t blocks(op::allreduce o, rank_type n) const { return views[0].blocks(o, n); }
  std::uint32_t steps(op::allreduce o, rank_type n, rank_type me) const { return views[me].steps(o, n, me); }
  step at(op::allreduce o, rank_type n, rank_type me, std::uint32_t i) const { return views[me].at(o, n, me, i); }
};

BOOST_AUTO_TEST_CASE(is_verified_and_priced_like_any_other) {
  for (rank_type n = 1; n <= 17; ++n) {
    std::vector<tutti::plan<true>> plans;
    for (rank_type me = 0; me < n; ++me) {
      plans.emplace_back(tutti::butterfly{}, op::allreduce{}, n, me);
    }
    all_planned all;
    for (auto const& p : plans) {
      all.views.push_back(p.view());
    }
    BOOST_TEST((laws::run(all, op::allreduce{}, n) == laws::run(tutti::butterfly{}, op::allreduce{}, n)));
    BOOST_TEST(
        (tutti::cost_of(all, op::allreduce{}, n, 100) == tutti::cost_of(tutti::butterfly{}, op::allreduce{}, n, 100)));
  }
}

}  // namespace
