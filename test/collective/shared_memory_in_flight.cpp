// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, ranks are processes)
#define BOOST_TEST_MODULE collective_shared_memory_in_flight
#include <laws/in_flight_cases.hpp>
#include <tutti/transport/shared_memory.hpp>

support::cases const test_cases = laws::in_flight<tutti::shared_memory>::all();
