// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, ranks are processes)
#define BOOST_TEST_MODULE collective_shared_memory_lifted
#include <laws/operator_cases.hpp>
#include <tutti/transport/shared_memory.hpp>

support::cases const test_cases{
    {"accumulators_need_not_be_elements", laws::accumulators_need_not_be_elements<tutti::shared_memory>}};
