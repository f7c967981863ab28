// SPDX-License-Identifier: Apache-2.0
// test: address thread
#define BOOST_TEST_MODULE collective_loopback_in_flight
#include <laws/in_flight_cases.hpp>
#include <tutti/transport/loopback.hpp>

support::cases const test_cases = laws::in_flight<tutti::loopback>::all();
