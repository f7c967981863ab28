// SPDX-License-Identifier: Apache-2.0
// test: plain
#include "../../bench/simulation/waited_ring.hpp"

#include <tutti/topology/verify.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_CASE(a_ring_that_waits_for_sends_is_right) {
  for (tutti::rank_type n = 1; n != 18; ++n) {
    auto const verdict = tutti::verify(bench::waited_ring{}, tutti::op::allreduce{}, n);
    BOOST_TEST(verdict.reason == "", n << " ranks");
  }
}
