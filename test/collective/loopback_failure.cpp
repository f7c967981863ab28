// SPDX-License-Identifier: Apache-2.0
// test: address thread
#define BOOST_TEST_MODULE collective_loopback_failure
#include <laws/failure_cases.hpp>
#include <tutti/transport/loopback.hpp>

support::cases const test_cases = laws::failures<tutti::loopback>::all();
