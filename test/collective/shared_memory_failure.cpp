// SPDX-License-Identifier: Apache-2.0
// test: address one_compiler (ranks are processes)
#define BOOST_TEST_MODULE collective_shared_memory_failure
#include <laws/failure_cases.hpp>
#include <tutti/transport/shared_memory.hpp>

support::cases const test_cases = laws::failures<tutti::shared_memory>::all();
support::cases const cases_of_processes = laws::failures<tutti::shared_memory>::of_processes();
support::cases const cases_of_readers = laws::failures<tutti::shared_memory>::of_readers();
