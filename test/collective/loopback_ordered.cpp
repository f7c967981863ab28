// SPDX-License-Identifier: Apache-2.0
// test: address thread
#define BOOST_TEST_MODULE collective_loopback_ordered
#include <laws/operator_cases.hpp>
#include <tutti/transport/loopback.hpp>

support::cases const test_cases{{"operators_that_do_not_commute_keep_rank_order",
                                 laws::operators_that_do_not_commute_keep_rank_order<tutti::loopback>}};
