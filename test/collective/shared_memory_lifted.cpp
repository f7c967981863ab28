// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_shared_memory_lifted
#include <laws/operator_cases.hpp>
#include <tutti/transport/shared_memory.hpp>

support::cases const test_cases{
    {"accumulators_need_not_be_elements", laws::accumulators_need_not_be_elements<tutti::shared_memory>}};
