// SPDX-License-Identifier: Apache-2.0
// test: plain (its parts are the same over loopback, ranks are processes)
#include <laws/locality_cases.hpp>
#include <support/process_ranks.hpp>
#include <tutti/transport/shared_memory.hpp>

namespace {

using laws_between_hosts = tutti::laws::between_hosts<tutti::shared_memory, tutti::support::process_ranks>;

support::cases const test_cases = laws_between_hosts::failing();

BOOST_AUTO_TEST_CASE(deaths) {
  using tutti::laws::a_dead_process_is_found;
  a_dead_process_is_found<laws_between_hosts::hosts>(2, 0);
  a_dead_process_is_found<laws_between_hosts::hosts>(4, 3);
  laws_between_hosts::on_uneven_hosts([] {
    a_dead_process_is_found<laws_between_hosts::hosts>(7, 1);
    a_dead_process_is_found<laws_between_hosts::hosts>(7, 6);  // alone on its host
  });
}

}  // namespace
