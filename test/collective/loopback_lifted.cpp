// SPDX-License-Identifier: Apache-2.0
// test: address thread
#define BOOST_TEST_MODULE collective_loopback_lifted
#include <laws/operator_cases.hpp>
#include <tutti/transport/loopback.hpp>

support::cases const test_cases{
    {"accumulators_need_not_be_elements", laws::accumulators_need_not_be_elements<tutti::loopback>}};
