// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/planned.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/selection.hpp>
#include <tutti/topology/star.hpp>

#include <string>
#include <tuple>
#include <vector>

namespace {

using tutti::rank_type;
using tutti::step;
namespace op = tutti::op;

// A plan can be made and read in a constant expression.
static_assert([] {
  const tutti::plan p(tutti::ring{}, op::allreduce{}, 5, 2);
  return p.view().steps(op::allreduce{}, 5, 2) == 8 &&
         p.view().at(op::allreduce{}, 5, 2, 3) == tutti::ring{}.at(op::allreduce{}, 5, 2, 3);
}());
static_assert(std::same_as<decltype(tutti::plan(tutti::ring{}, op::allreduce{}, 2, 0)), tutti::plan<false>>);
static_assert(std::same_as<decltype(tutti::plan(tutti::butterfly{}, op::allreduce{}, 2, 0)), tutti::plan<true>>);
static_assert(std::same_as<decltype(tutti::plan(tutti::direct{}, op::allreduce{}, 2, 0)), tutti::plan<false, true>>);
static_assert(std::is_trivially_copyable_v<tutti::planned_schedule<true>>);

// A plan has no helpers, so the plan of a topology with helpers is that of its topology without helpers.
static_assert([] {
  const tutti::plan p(tutti::in_network{}, op::allreduce{}, 5, 2);
  return p.view().steps(op::allreduce{}, 5, 2) == tutti::star{}.steps(op::allreduce{}, 5, 2) &&
         p.view().settings(5).identity == identity_of(tutti::star{}, 5).identity;
}());

// A plan promises no more than its topology.
template <class Plan, class Topology>
constexpr bool plans = std::constructible_from<Plan, Topology, op::allreduce, rank_type, rank_type>;
static_assert(plans<tutti::plan<true>, tutti::star> && plans<tutti::plan<false>, tutti::star>);
static_assert(!plans<tutti::plan<true>, tutti::ring> && plans<tutti::plan<false>, tutti::ring>);
static_assert(plans<tutti::plan<false, true>, tutti::star> && !plans<tutti::plan<false, true>, tutti::ring>);

BOOST_AUTO_TEST_CASE(promises_order_where_what_was_picked_keeps_it) {
  using tutti::schedule_kind;
  auto const make_plan = [](schedule_kind kind, auto op) {
    return tutti::plan<true>(tutti::selection(kind), op, 4, 1);
  };
  BOOST_CHECK_NO_THROW(std::ignore = make_plan(schedule_kind::binary_tree, op::allreduce{}));
  BOOST_CHECK_THROW(std::ignore = make_plan(schedule_kind::binary_tree, op::reduce_scatter{}),
                    tutti::precondition_error);
  BOOST_CHECK_THROW(std::ignore = make_plan(schedule_kind::ring, op::allreduce{}), tutti::precondition_error);
}

template <class Topology, class Op>
bool is_same(Topology const& topology, Op const& op, rank_type n) {
  for (rank_type me = 0; me < n; ++me) {
    const tutti::plan owner(topology, op, n, me);
    const tutti::planned_schedule view = owner.view();
    if (view.blocks(op, n) != topology.blocks(op, n) || view.steps(op, n, me) != topology.steps(op, n, me)) {
      return false;
    }
    for (std::uint32_t i = 0; i < topology.steps(op, n, me); ++i) {
      if (view.at(op, n, me, i) != topology.at(op, n, me, i)) {
        return false;
      }
    }
  }
  return true;
}

template <class Topology>
void check_same() {
  tutti::detail::verify::for_each_offered<Topology>([]<class Op>() {
    for (rank_type n = 1; n <= 9; ++n) {
      tutti::detail::verify::at_every_root<Op>(n, [n](Op const& op) { BOOST_TEST(is_same(Topology{}, op, n)); });
    }
  });
}

BOOST_AUTO_TEST_CASE(is_the_schedule_that_it_was_made_from) {
  check_same<tutti::ring>();
  check_same<tutti::binary_tree>();
  check_same<tutti::butterfly>();
  check_same<tutti::direct>();
}

/// Checks that a call throws an error with these words.
template <class Ask>
void expect_refusal(Ask ask, std::string const& words) {
  try {
    (void)ask();
    BOOST_TEST(false, "answered, and not refused: " << words);
  } catch (tutti::precondition_error const& e) {
    BOOST_TEST(std::string(e.what()).find(words) != std::string::npos, e.what());
  }
}

// A plan refuses every operation, root, rank and world size except its own.
BOOST_AUTO_TEST_CASE(is_a_plan_of_one_thing) {
  rank_type const n = 4;
  const tutti::plan owner(tutti::direct{}, op::broadcast{1}, n, 2);
  const tutti::planned_schedule plan = owner.view();
  tutti::detail::verify::for_each_offered<tutti::direct>([&]<class Op>() {
    tutti::detail::verify::at_every_root<Op>(n, [&](Op const& o) {
      if (!(std::same_as<Op, op::broadcast> && tutti::plan_purpose::make(o, n, 2).root == 1)) {
        std::string const operation(tutti::name(tutti::detail::verify::kind_of<Op>));
        expect_refusal([&] { return plan.blocks(o, n); }, "is asked for " + operation);
        expect_refusal([&] { return plan.steps(o, n, 2); }, "is asked for " + operation);
      }
    });
  });
  BOOST_TEST(plan.steps(op::broadcast{1}, n, 2) == tutti::direct{}.steps(op::broadcast{1}, n, 2));
  std::string const beginning = "a plan of broadcast, root 1, by rank 2 of 4, made of direct, ";
  expect_refusal([&] { return plan.blocks(op::broadcast{1}, 5); },
                 beginning + "and is asked for broadcast, root 1, by rank 2 of 5");
  expect_refusal([&] { return plan.steps(op::broadcast{1}, 4, 3); },
                 beginning + "and is asked for broadcast, root 1, by rank 3 of 4");
}

BOOST_AUTO_TEST_CASE(settings_tell_what_it_was_made_from) {
  auto const settings = [](auto const& topology) {
    return tutti::plan<false>(topology, op::allreduce{}, 6, 0).view().settings(6);
  };
  auto const hosts = [](rank_type size) { return tutti::hierarchical{tutti::binary_tree{}, tutti::ring{}, size}; };
  BOOST_TEST(settings(tutti::ring{}).identity != settings(tutti::binary_tree{}).identity);
  BOOST_TEST(settings(hosts(2)).identity != settings(hosts(3)).identity);
  BOOST_TEST(settings(tutti::ring{}).identity ==
             tutti::plan<false>(tutti::ring{}, op::allreduce{}, 6, 5).view().settings(6).identity);
  BOOST_TEST(std::string(settings(tutti::binary_tree{}).label) == "binary_tree");
  BOOST_TEST(std::string(settings(hosts(2)).label) == "hosts of 2");
}

/// The plans of all ranks as one topology, which the verifier can run.
struct all_planned {
  static constexpr std::string_view name = "all planned";
  static constexpr bool keeps_rank_order = true;
  static constexpr bool sends_raw_contributions = false;

  std::vector<tutti::planned_schedule<true>> views;

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
    all_planned topology;
    for (auto const& p : plans) {
      topology.views.push_back(p.view());
    }
    BOOST_TEST((laws::run(topology, op::allreduce{}, n) == laws::run(tutti::butterfly{}, op::allreduce{}, n)));
    BOOST_TEST((tutti::cost_of(topology, op::allreduce{}, n, 100) ==
                tutti::cost_of(tutti::butterfly{}, op::allreduce{}, n, 100)));
  }
}

}  // namespace
