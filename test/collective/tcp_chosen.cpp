// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, ranks are processes)
#define BOOST_TEST_MODULE collective_tcp_chosen
#include <laws/chosen_cases.hpp>
#include <tutti/transport/tcp.hpp>

support::cases const test_cases{
    {"chosen_topologies_equal_the_sequential_answer", laws::chosen_topologies_equal_the_sequential_answer<tutti::tcp>}};
