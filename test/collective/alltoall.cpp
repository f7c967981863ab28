// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/operator_cases.hpp>
#include <tutti/detail/engine/pair_blocks.hpp>

BOOST_AUTO_TEST_CASE_TEMPLATE(elements_arrive_where_they_belong, Transport, support::transports_of_the_engine) {
  laws::over_all_topologies<Transport>(
      [](auto& world, auto topology) { return laws::alltoalls<laws::triple>(world, topology, 1023); });
}
