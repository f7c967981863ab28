// SPDX-License-Identifier: Apache-2.0
// test: address thread waits
#include <laws/transport_cases.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/transport/tcp.hpp>

namespace {

using namespace tutti::laws;
using ranks_by_tcp = tutti::laws::world<tutti::tcp, tutti::support::thread_ranks>;
using connected_ranks = world_with_connections<tutti::tcp, tutti::support::thread_ranks>;

struct amounts : amounts_of_laws {
  static constexpr std::array<std::size_t, 2> left_unread{8, 300'000};
  static constexpr std::array destructions{delivery_amount{2, 10'000}, delivery_amount{2, 300'000},
                                           delivery_amount{5, 100}};
  static constexpr int quiescences = 50;
  static constexpr std::array slept{sleep_amount{2, 2000, 4}, sleep_amount{3, 500, 1000}, sleep_amount{3, 50, 300'000}};
  static constexpr std::array<release_amount, 0> releases{};  // a release sends nothing to a sender that has copied
};
using test_cases = transport_cases<ranks_by_tcp, amounts, connected_ranks>;

support::cases const failing = test_cases::failing();
support::cases const sleeping = test_cases::sleeping();

}  // namespace
