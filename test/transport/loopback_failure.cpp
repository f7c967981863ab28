// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/transport_cases.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/transport/loopback.hpp>

namespace {

using world = tutti::laws::world<tutti::loopback, tutti::support::thread_ranks>;

struct amounts : tutti::laws::amounts_in_memory {
  static constexpr int quiescences = 200;
};
using test_cases = tutti::laws::transport_cases<world, amounts>;

support::cases const failing = test_cases::failing();
support::cases const sleeping = test_cases::sleeping();

}  // namespace
