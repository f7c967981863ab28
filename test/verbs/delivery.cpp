// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
#include <laws/transport_cases.hpp>
#include <support/process_ranks.hpp>
#include <support/rdma_device.hpp>
#include <tutti/verbs/verbs.hpp>

namespace {

using namespace tutti::laws;
using ranks_by_verbs = tutti::laws::world<tutti::verbs, tutti::support::process_ranks>;

struct amounts : amounts_of_laws {
  static constexpr std::array deliveries{delivery_amount{1, 100'003}, delivery_amount{2, 5 << 20},
                                         delivery_amount{3, 100'003}, delivery_amount{5, 100'003}};
  static constexpr std::array flows{flow_amount{2, 200}, flow_amount{4, 50}};
  static constexpr std::array<std::size_t, 3> view_bytes{8, 5000, 500'000};
  static constexpr std::array slept{sleep_amount{2, 500, 4}, sleep_amount{3, 100, 1000}, sleep_amount{5, 30, 300'000}};
  static constexpr std::array releases{release_amount{100, 4}, release_amount{100, 50'000}};
  static constexpr std::array<tutti::rank_type, 2> ranks_asleep_at_faults{2, 5};
};
using test_cases = transport_cases<ranks_by_verbs, amounts>;

support::cases const delivering = test_cases::delivering();
support::cases const filling_lanes = test_cases::filling_lanes();
support::cases const sleeping = test_cases::sleeping();

}  // namespace
