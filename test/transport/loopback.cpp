// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/memory_cases.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/transport/loopback.hpp>

namespace {

using world = tutti::laws::world<tutti::loopback, tutti::support::thread_ranks>;

support::cases const test_cases = tutti::laws::through_memory<world>::delivering();

}  // namespace
