// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip one_compiler (what it needs is in a guest)
#include <laws/shrink.hpp>
#include <support/rdma_device.hpp>
#include <tutti/verbs/verbs.hpp>

BOOST_AUTO_TEST_CASE(those_that_are_left_go_on) {
  laws::those_that_are_left_go_on<tutti::verbs>(4, {{1}});
  laws::those_that_are_left_go_on<tutti::verbs>(2, {{0}});
  laws::those_that_are_left_go_on<tutti::verbs>(5, {{0}, {1, 3}, {2}});
}
BOOST_AUTO_TEST_CASE(a_host_that_dies_is_followed_by_the_next) {
  laws::a_host_that_dies_is_followed_by_the_next<tutti::verbs>(5);
}
