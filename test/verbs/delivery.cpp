// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
#include <laws/transport.hpp>
#include <laws/transport_sleep.hpp>
#include <support/process_ranks.hpp>
#include <support/rdma_device.hpp>
#include <tutti/verbs/verbs.hpp>

namespace {

using world = tutti::laws::world<tutti::verbs, tutti::support::process_ranks>;
using namespace tutti::laws;

BOOST_AUTO_TEST_CASE(delivery) {
  delivers_everything_in_order<world>(1, 100'003);
  delivers_everything_in_order<world>(2, 5 << 20);
  delivers_everything_in_order<world>(3, 100'003);
  delivers_everything_in_order<world>(5, 100'003);
}
BOOST_AUTO_TEST_CASE(granules) {
  keeps_granules_whole<world>();
}
BOOST_AUTO_TEST_CASE(flows) {
  keeps_flows_apart<world>(2, 200);
  keeps_flows_apart<world>(4, 50);
}
BOOST_AUTO_TEST_CASE(lanes) {
  for (std::size_t const bytes : {4UL, 1000UL, 100'000UL}) {
    full_lanes_hold_up_no_other<world>(bytes, bytes * 100);
  }
}
BOOST_AUTO_TEST_CASE(views) {
  views_are_stable_until_released<world>(8);
  views_are_stable_until_released<world>(5000);
  views_are_stable_until_released<world>(500'000);
}
BOOST_AUTO_TEST_CASE(sleep) {
  sleepers_are_woken<world>(2, 500, 4);
  sleepers_are_woken<world>(3, 100, 1000);
  sleepers_are_woken<world>(5, 30, 300'000);
  releases_wake<world>(100, 4);
  releases_wake<world>(100, 50'000);
  sleepers_learn_of_faults<world>(2);
  sleepers_learn_of_faults<world>(5);
}

}  // namespace
