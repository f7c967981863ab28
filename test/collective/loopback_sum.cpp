// SPDX-License-Identifier: Apache-2.0
// test: address thread
#define BOOST_TEST_MODULE collective_loopback_sum
#include <laws/operator_cases.hpp>
#include <tutti/transport/loopback.hpp>

support::cases const test_cases{
    {"sums_equal_the_sequential_answer", laws::sums_equal_the_sequential_answer<tutti::loopback>}};
