// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/selection.hpp>

#include <string>
#include <vector>

namespace {

using tutti::all_schedule_kinds;
using tutti::rank_type;
using tutti::schedule_kind;
using tutti::selection;
namespace op = tutti::op;

/// Hosts of equal sizes, hosts of different sizes, and hosts with ranks dealt out round-robin.
tutti::host_map const maps[] = {tutti::host_map(std::vector{0, 0, 1, 1, 2, 2}),
                                tutti::host_map(std::vector{0, 0, 0, 1, 2, 2}),
                                tutti::host_map(std::vector{0, 1, 2, 0, 1, 2})};

// Every operation of every pick is correct, and combines in rank order if it declares that.
BOOST_AUTO_TEST_CASE(is_right_whatever_is_picked) {
  for (schedule_kind const kind : all_schedule_kinds) {
    for (auto const& map : maps) {
      laws::check(selection(kind, &map), {6});
    }
    if (!selection::groups_hosts(kind)) {
      laws::check(selection(kind), {1, 2, 3, 5, 8, 11});
    }
    laws::check(selection(kind, &maps[0]).without_aggregators(), {6});
    BOOST_TEST(members(selection(kind, &maps[0]).without_aggregators(), op::allreduce{}, 6) == 6);
    BOOST_TEST((members(selection(kind, &maps[0]), op::allreduce{}, 6) == 7) == (kind == schedule_kind::in_network));
  }
}

template <class Op>
bool in_order(schedule_kind kind) {
  return selection(kind, &maps[0]).combines_in_rank_order<Op>(6);
}

// Order depends on the schedule that an operation runs by, which may be `direct` instead of the pick.
BOOST_AUTO_TEST_CASE(order_is_told_of_each_operation) {
  for (schedule_kind const kind : {schedule_kind::doubling, schedule_kind::binary_tree, schedule_kind::chain}) {
    BOOST_TEST((in_order<op::allreduce>(kind) && in_order<op::reduce>(kind) && !in_order<op::reduce_scatter>(kind)));
  }
  constexpr auto butterfly = schedule_kind::butterfly;
  BOOST_TEST((in_order<op::allreduce>(butterfly) && !in_order<op::reduce>(butterfly)));
  BOOST_TEST(in_order<op::reduce_scatter>(butterfly));
  constexpr auto star = schedule_kind::star;
  BOOST_TEST((in_order<op::allreduce>(star) && in_order<op::reduce>(star) && in_order<op::reduce_scatter>(star)));
  for (schedule_kind const kind : {schedule_kind::ring, schedule_kind::double_tree, schedule_kind::direct}) {
    BOOST_TEST((!in_order<op::allreduce>(kind) && !in_order<op::reduce>(kind) && !in_order<op::reduce_scatter>(kind)));
  }
  // A pick that declares rank order has it.
  for (schedule_kind const kind : all_schedule_kinds) {
    auto const is_true = [kind]<class Op>(Op const& o) {
      bool const declares_order = in_order<Op>(kind);
      return !declares_order || laws::run(selection(kind, &maps[0]), o, 6).keeps_rank_order;
    };
    BOOST_TEST((is_true(op::allreduce{}) && is_true(op::reduce{1}) && is_true(op::reduce_scatter{})));
  }
}

BOOST_AUTO_TEST_CASE(settings_tell_picks_apart) {
  auto const identity = [](schedule_kind kind, tutti::host_map const& map) {
    return selection(kind, &map).settings(6).identity;
  };
  for (schedule_kind const a : all_schedule_kinds) {
    for (schedule_kind const b : all_schedule_kinds) {
      BOOST_TEST((identity(a, maps[0]) == identity(b, maps[0])) == (a == b));
    }
    bool const by_hosts = selection::groups_hosts(a);
    BOOST_TEST((identity(a, maps[0]) == identity(a, maps[1])) == !by_hosts);
    BOOST_TEST((identity(a, maps[0]) == identity(a, maps[2])) == !by_hosts);
    BOOST_TEST(std::string(selection(a, &maps[0]).settings(6).label) == name(a).substr(0, tutti::call::text - 1));
  }
}

}  // namespace
