// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#include <laws/transport_cases.hpp>
#include <support/process_ranks.hpp>
#include <tutti/transport/tcp.hpp>

namespace {

using namespace tutti::laws;
using ranks_by_tcp = tutti::laws::world<tutti::tcp, tutti::support::process_ranks>;

struct amounts : amounts_of_laws {
  static constexpr std::array deliveries{delivery_amount{4, 400'003}};
  static constexpr std::array flows{flow_amount{3, 100}};
  static constexpr std::array<std::size_t, 1> left_unread{300'000};
  static constexpr std::array dead{death_amount{2, 1}, death_amount{2, 0}, death_amount{3, 2},
                                   death_amount{3, 0}, death_amount{5, 4}, death_amount{5, 0}};
};
using test_cases = transport_cases<ranks_by_tcp, amounts>;

support::cases const delivering{
    {"delivery", test_cases::delivery}, {"flows", test_cases::flows}, {"departures", test_cases::departures}};
support::cases const dying = test_cases::dying();

}  // namespace
