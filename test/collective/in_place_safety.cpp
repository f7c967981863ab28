// SPDX-License-Identifier: Apache-2.0
// test: plain (plain values, at length, one thread)
#define BOOST_TEST_MODULE collective_in_place_safety
#include <laws/all_topologies.hpp>
#include <laws/in_place_safety.hpp>
#include <models/triangle.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_CASE(no_interleaving_breaks_a_sum) {
  BOOST_TEST(laws::in_place_safety_everywhere<laws::all_topologies>(tutti::sum<std::uint32_t>{}, 20) == "");
}

BOOST_AUTO_TEST_CASE(no_interleaving_breaks_the_rank_order) {
  BOOST_TEST(laws::in_place_safety_everywhere<laws::all_topologies>(laws::composition{}, 20) == "");
}

BOOST_AUTO_TEST_CASE(a_schedule_whose_writes_can_overtake_its_readers_is_made_safe) {
  BOOST_TEST(laws::in_place_safety_everywhere<laws::topologies<models::triangle>>(tutti::sum<std::uint32_t>{}, 200) ==
             "");
}
