// SPDX-License-Identifier: Apache-2.0
// test: address thread full_speed
#include <laws/transport_cases.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/detail/tcp/mesh.hpp>
#include <tutti/transport/tcp.hpp>

namespace {

using namespace tutti::laws;
using ranks_by_tcp = tutti::laws::world<tutti::tcp, tutti::support::thread_ranks>;

struct amounts : amounts_of_laws {
  static constexpr std::array deliveries{delivery_amount{1, 400'003}, delivery_amount{2, 400'003},
                                         delivery_amount{5, 400'003}, delivery_amount{2, 5 << 20}};
};
using test_cases = transport_cases<ranks_by_tcp, amounts>;

support::cases const delivering = test_cases::delivering();
support::cases const of_many_ranks = test_cases::of_many_ranks();

}  // namespace
