// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#include <laws/memory_cases.hpp>
#include <support/process_ranks.hpp>
#include <tutti/transport/shared_memory.hpp>

namespace {

using world = tutti::laws::world<tutti::shared_memory, tutti::support::process_ranks>;

support::cases const test_cases = tutti::laws::through_memory<world>::failing();

BOOST_AUTO_TEST_CASE(deaths) {
  tutti::laws::a_dead_process_is_found<world>(2, 0);
  tutti::laws::a_dead_process_is_found<world>(4, 3);
  tutti::laws::a_dead_process_is_found<world>(9, 1);
}
BOOST_AUTO_TEST_CASE(deaths_of_parents) {
  tutti::laws::a_helper_does_not_hide_a_death<world>(3, 1, ::fork);
  tutti::laws::a_helper_does_not_hide_a_death<world>(3, 1, ::_Fork);  // which inherits all
}
BOOST_AUTO_TEST_CASE(stops) {
  tutti::laws::a_stopped_process_is_waited_for<world>();
  tutti::laws::a_forked_child_takes_no_part<world>();
}

}  // namespace
