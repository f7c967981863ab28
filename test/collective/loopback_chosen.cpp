// SPDX-License-Identifier: Apache-2.0
// test: address thread
#define BOOST_TEST_MODULE collective_loopback_chosen
#include <laws/chosen_cases.hpp>
#include <tutti/transport/loopback.hpp>

support::cases const test_cases{{"chosen_topologies_equal_the_sequential_answer",
                                 laws::chosen_topologies_equal_the_sequential_answer<tutti::loopback>}};
