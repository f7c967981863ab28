// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_tcp_in_flight
#include <laws/in_flight_cases.hpp>
#include <tutti/transport/tcp.hpp>

support::cases const test_cases = laws::in_flight<tutti::tcp>::all();
