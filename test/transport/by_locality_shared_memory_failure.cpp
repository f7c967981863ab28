// SPDX-License-Identifier: Apache-2.0
// test: plain (its parts are the same over loopback, ranks are processes)
#define BOOST_TEST_MODULE transport_by_locality_shared_memory_failure
#include <laws/locality_cases.hpp>
#include <support/process_ranks.hpp>
#include <tutti/transport/shared_memory.hpp>

namespace {

using laws_between_hosts = tutti::laws::between_hosts<tutti::shared_memory, tutti::support::process_ranks>;

support::cases const test_cases = laws_between_hosts::failing();

BOOST_AUTO_TEST_CASE(deaths) {
  tutti::laws::a_dead_process_is_found<laws_between_hosts::mixed>(2, 0);
  tutti::laws::a_dead_process_is_found<laws_between_hosts::mixed>(4, 3);
  tutti::laws::a_dead_process_is_found<laws_between_hosts::uneven>(7, 1);
  tutti::laws::a_dead_process_is_found<laws_between_hosts::uneven>(7, 6);  // alone on its host
}

}  // namespace
