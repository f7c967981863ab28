// SPDX-License-Identifier: Apache-2.0
// test: plain
#include "../../bench/nn/averaging/wrong_ring.hpp"

#include <tutti/topology/verify.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_CASE(a_wrong_ring_ends_and_is_refused) {
  for (auto const wrong : bench::all_mistakes) {
    for (tutti::rank_type n = 3; n != 18; ++n) {
      auto const verdict = tutti::verify(bench::wrong_ring{wrong}, tutti::op::allreduce{}, n);
      BOOST_TEST(!verdict.exact, bench::name(wrong) << ", " << n << " ranks");
      BOOST_TEST((verdict.finishes && verdict.ends_match), bench::name(wrong)
                                                               << ", " << n << " ranks: " << verdict.reason);
      bench::wrong_ring const schedule{wrong};
      tutti::detail::verify::buffering<bench::wrong_ring, tutti::op::allreduce> run(schedule, {}, n);
      BOOST_TEST(run.run().rank == tutti::no_rank, bench::name(wrong) << ", " << n << " ranks");
    }
  }
}
