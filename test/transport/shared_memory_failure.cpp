// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#include <laws/transport_cases.hpp>
#include <support/process_ranks.hpp>
#include <tutti/transport/shared_memory.hpp>

namespace {

using world = tutti::laws::world<tutti::shared_memory, tutti::support::process_ranks>;

struct amounts : tutti::laws::amounts_in_memory {
  static constexpr std::array<pid_t (*)(), 2> forks{::fork, ::_Fork};  // the second child inherits all
};
using test_cases = tutti::laws::transport_cases<world, amounts>;

support::cases const failing = test_cases::failing();
support::cases const sleeping = test_cases::sleeping();
support::cases const dying = test_cases::dying();

}  // namespace
