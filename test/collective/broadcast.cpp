// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/operator_cases.hpp>

BOOST_AUTO_TEST_CASE_TEMPLATE(elements_arrive_where_they_belong, Transport, support::transports_of_the_engine) {
  laws::over_all_topologies<Transport>(
      [](auto& world, auto topology) { return laws::broadcasts<laws::triple>(world, topology, 1023); });
}

/// The recorded call is kept from one operation to the next, and follows element type, root, length and segments.
BOOST_AUTO_TEST_CASE(an_operator_tells_what_it_is_used_for) {
  for (auto const& end : tutti::spawn<tutti::loopback>(3, [](auto& world) -> std::string {
         std::vector<float> floats(10);
         std::vector<std::int32_t> ints(3000);
         tutti::broadcast share{world, tutti::chain{}};
         share(floats, 0);
         share(ints, 1);
         share.segment(4000);
         share(ints, 1);
         share.start(floats, 2).wait();
         share.start(ints, 2).wait();
         tutti::broadcast other{world, tutti::chain{}};  // has run nothing before
         if (world.rank() == 1) {
           share.segment(0);
           share(floats, 1);
         } else {
           other(floats, 1);
         }
         return world.recent().text();
       })) {
    BOOST_TEST(end.value() ==
               "#0 broadcast(float32 x 10, root 0, chain): completed\n"
               "#1 broadcast(int32 x 3000, root 1, chain): completed\n"
               "#2 broadcast(int32 x 3000, root 1, chain): completed\n"
               "#3 broadcast(float32 x 10, root 2, chain): completed\n"
               "#4 broadcast(int32 x 3000, root 2, chain): completed\n"
               "#5 broadcast(float32 x 10, root 1, chain): completed\n");
  }
}
