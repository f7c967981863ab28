// SPDX-License-Identifier: Apache-2.0
// test: address thread full_speed
#include <laws/transport_cases.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/transport/loopback.hpp>

namespace {

using world = tutti::laws::world<tutti::loopback, tutti::support::thread_ranks>;
using test_cases = tutti::laws::transport_cases<world, tutti::laws::amounts_in_memory>;

support::cases const delivering = test_cases::delivering();
support::cases const filling_lanes = test_cases::filling_lanes();
support::cases const of_many_ranks = test_cases::of_many_ranks();

}  // namespace
