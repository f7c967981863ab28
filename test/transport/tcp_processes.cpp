// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#include <laws/transport_failure.hpp>
#include <support/process_ranks.hpp>
#include <tutti/transport/tcp.hpp>

namespace {

using tutti::tcp;
using world = tutti::laws::world<tcp, tutti::support::process_ranks>;
using namespace tutti::laws;

BOOST_AUTO_TEST_CASE(delivery) {
  delivers_everything_in_order<world>(4, 400'003);
  keeps_flows_apart<world>(3, 100);
}
BOOST_AUTO_TEST_CASE(deaths) {
  for (tutti::rank_type const n : {2U, 3U, 5U}) {
    a_dead_process_is_found<world>(n, n - 1);
    a_dead_process_is_found<world>(n, 0);
  }
}
BOOST_AUTO_TEST_CASE(helpers) {
  a_helper_does_not_hide_a_death<world>(3, 1, ::fork);
  a_forked_child_takes_no_part<world>();
}
BOOST_AUTO_TEST_CASE(stops) {
  a_stopped_process_is_waited_for<world>();
}
BOOST_AUTO_TEST_CASE(departures) {
  a_departed_peer_is_missed_when_it_is_needed<world>();
  a_departed_reader_is_missed<world>(300'000);
}

}  // namespace
