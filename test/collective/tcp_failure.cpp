// SPDX-License-Identifier: Apache-2.0
// test: address one_compiler (ranks are processes)
#define BOOST_TEST_MODULE collective_tcp_failure
#include <laws/failure_cases.hpp>
#include <tutti/transport/tcp.hpp>

support::cases const test_cases = laws::failures<tutti::tcp>::all();
support::cases const cases_of_processes = laws::failures<tutti::tcp>::of_processes();
