// SPDX-License-Identifier: Apache-2.0
// test: plain (plain values, at length, one thread)
#include <laws/all_topologies.hpp>
#include <laws/in_place_safety.hpp>
#include <models/triangle.hpp>

#include <boost/test/unit_test.hpp>

namespace {

/// Runs over every topology that the reduction may be used with.
template <class R>
std::string over_all_topologies(R reduction) {
  return laws::all_topologies::first_complaint([&](auto topology) -> std::string {
    if constexpr (tutti::keeps_rank_order_for<decltype(topology), tutti::op::allreduce, R>) {
      return laws::in_place_safety_everywhere(topology, reduction, 20);
    }
    return {};
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_interleaving_breaks_a_sum) {
  BOOST_TEST(over_all_topologies(tutti::sum<std::uint32_t>{}) == "");
}

BOOST_AUTO_TEST_CASE(no_interleaving_breaks_the_rank_order) {
  BOOST_TEST(over_all_topologies(laws::composition{}) == "");
}

BOOST_AUTO_TEST_CASE(no_interleaving_breaks_a_scan) {
  auto const scans = [](auto topology) -> std::string {
    auto const complaint = laws::in_place_safety_everywhere<tutti::op::scan>(topology, laws::composition{}, 10);
    return complaint.empty() ? laws::in_place_safety_everywhere<tutti::op::exscan>(topology, laws::composition{}, 10)
                             : complaint;
  };
  BOOST_TEST(scans(tutti::chain{}) == "");
  BOOST_TEST(scans(tutti::doubling{}) == "");
}

BOOST_AUTO_TEST_CASE(a_schedule_whose_writes_can_overtake_its_readers_is_made_safe) {
  BOOST_TEST(laws::in_place_safety_everywhere(models::triangle{}, tutti::sum<std::uint32_t>{}, 200) == "");
}
