// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/operator_cases.hpp>

namespace {

template <class Transport, class R>
void equals_the_sequential_answer(R reduction, std::size_t longest) {
  laws::over_all_topologies<Transport>(
      [&](auto& world, auto topology) { return laws::reduce_scatters(world, topology, reduction, longest); });
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(sums_equal_the_sequential_answer, Transport, support::transports_of_the_engine) {
  equals_the_sequential_answer<Transport>(tutti::sum<float>{}, 4099);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(accumulators_need_not_be_elements, Transport, support::transports_of_the_engine) {
  equals_the_sequential_answer<Transport>(laws::wide_mean{}, 1023);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(what_does_not_commute_keeps_rank_order, Transport, support::transports_of_the_engine) {
  equals_the_sequential_answer<Transport>(laws::composition{}, 1023);
}
