// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_loopback_moving
#include <laws/operator_cases.hpp>
#include <tutti/transport/loopback.hpp>

support::cases const test_cases{
    {"moved_elements_arrive_where_they_belong", laws::moved_elements_arrive_where_they_belong<tutti::loopback>}};
