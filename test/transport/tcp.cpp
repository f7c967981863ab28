// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/transport.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/transport/tcp.hpp>

namespace {

using tutti::tcp;
using world = tutti::laws::world<tcp, tutti::support::thread_ranks>;
using namespace tutti::laws;

BOOST_AUTO_TEST_CASE(delivery) {
  for (tutti::rank_type const n : {1U, 2U, 5U}) {
    delivers_everything_in_order<world>(n, 400'003);
  }
  delivers_everything_in_order<world>(2, 5 << 20);
}
BOOST_AUTO_TEST_CASE(more_ranks_than_processors) {
  delivers_everything_in_order<world>(17, 1000);
}
BOOST_AUTO_TEST_CASE(granules) {
  keeps_granules_whole<world>();
}
BOOST_AUTO_TEST_CASE(flows) {
  keeps_flows_apart<world>(2, 1000);
  keeps_flows_apart<world>(4, 200);
  keeps_flows_apart<world>(17, 20);
}
BOOST_AUTO_TEST_CASE(views) {
  views_are_stable_until_released<world>(8);
  views_are_stable_until_released<world>(5000);
}

}  // namespace
