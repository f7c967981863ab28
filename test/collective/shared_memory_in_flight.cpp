// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_shared_memory_in_flight
#include <laws/in_flight_cases.hpp>
#include <tutti/transport/shared_memory.hpp>

support::cases const test_cases = laws::in_flight<tutti::shared_memory>::all();
