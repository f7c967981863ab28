// SPDX-License-Identifier: Apache-2.0
// test: address one_compiler (ranks are processes)
#define BOOST_TEST_MODULE collective_shared_memory_sum
#include <laws/operator_cases.hpp>
#include <tutti/transport/shared_memory.hpp>

support::cases const test_cases{
    {"sums_equal_the_sequential_answer", laws::sums_equal_the_sequential_answer<tutti::shared_memory>}};
