// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, ranks are processes)
#define BOOST_TEST_MODULE collective_tcp_moving
#include <laws/operator_cases.hpp>
#include <tutti/transport/tcp.hpp>

support::cases const test_cases{
    {"moved_elements_arrive_where_they_belong", laws::moved_elements_arrive_where_they_belong<tutti::tcp>}};
