// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, ranks are processes)
#define BOOST_TEST_MODULE collective_shared_memory_ordered
#include <laws/operator_cases.hpp>
#include <tutti/transport/shared_memory.hpp>

support::cases const test_cases{{"operators_that_do_not_commute_keep_rank_order",
                                 laws::operators_that_do_not_commute_keep_rank_order<tutti::shared_memory>}};
