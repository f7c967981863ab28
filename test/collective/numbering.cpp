// SPDX-License-Identifier: Apache-2.0
// test: address thread
#define BOOST_TEST_MODULE collective_numbering
#include <laws/numbering.hpp>
#include <tutti/simulate.hpp>
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

BOOST_AUTO_TEST_CASE(threads_number_their_operations_alike) {
  laws::check_numbering<tutti::loopback>(40);
}

BOOST_AUTO_TEST_CASE(simulated_ranks_number_their_operations_alike) {
  laws::check_numbering(20, [](tutti::rank_type n, auto const& program) {
    return tutti::simulate(tutti::one_switch(n, {.latency = std::chrono::microseconds(1)}), n, program).results;
  });
}

BOOST_AUTO_TEST_CASE(processes_number_their_operations_alike) {
  laws::check_numbering<tutti::shared_memory>(20);
}

BOOST_AUTO_TEST_CASE(hosts_number_their_operations_alike) {
  laws::check_numbering<tutti::tcp>(10);
  laws::check_numbering<tutti::by_locality<tutti::shared_memory, tutti::tcp>>(5);
}
