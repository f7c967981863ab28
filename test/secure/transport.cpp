// SPDX-License-Identifier: Apache-2.0
// test: address thread waits
#include <laws/transport_cases.hpp>
#include <support/process_ranks.hpp>
#include <support/thread_ranks.hpp>
#include <transport/tcp_world.hpp>
#include <tutti/detail/tcp/wire.hpp>
#include <tutti/secure.hpp>
#include <tutti/secure/detail/openssl_stream.hpp>

namespace {

using namespace tutti::laws;
using tutti::secure_tcp;
using tutti::support::process_ranks;
using tutti::support::secret_ranks;

/// Streams that renew their keys all the time.
bool const is_renewing = [] {
  tutti::detail::tcp::registered_streams = &tutti::detail::tcp::calls_of<tutti::detail::secure::openssl_stream<10>>;
  return tutti::detail::secure::is_registered;
}();

struct amounts : amounts_of_laws {
  static constexpr std::array deliveries{delivery_amount{1, 100'003}, delivery_amount{2, 5 << 20},
                                         delivery_amount{5, 100'003}};
  static constexpr std::array flows{flow_amount{2, 500}, flow_amount{4, 100}};
  static constexpr std::array<tutti::rank_type, 2> ranks_of_faults{2, 5};
  static constexpr std::array<std::size_t, 2> left_unread{8, 300'000};
  static constexpr std::array destructions{delivery_amount{2, 10'000}, delivery_amount{2, 300'000},
                                           delivery_amount{5, 100}};
  static constexpr int quiescences = 20;
  static constexpr std::array slept{sleep_amount{2, 1000, 4}, sleep_amount{3, 200, 1000}, sleep_amount{3, 20, 300'000}};
  static constexpr std::array<release_amount, 0> releases{};  // a release sends nothing to a sender that has copied
};
using test_cases =
    transport_cases<world<secure_tcp, secret_ranks<>>, amounts, world_with_connections<secure_tcp, secret_ranks<>>>;

struct process_amounts : amounts_of_laws {
  static constexpr std::array deliveries{delivery_amount{3, 400'003}};
  static constexpr std::array<std::size_t, 1> left_unread{300'000};
  static constexpr std::array dead{death_amount{2, 1}, death_amount{3, 0}, death_amount{5, 4}};
};
using process_cases = transport_cases<world<secure_tcp, secret_ranks<process_ranks>>, process_amounts>;

::support::cases const delivering = test_cases::delivering();
::support::cases const failing = test_cases::failing();
::support::cases const sleeping = test_cases::sleeping();
::support::cases const between_processes{{"delivery_between_processes", process_cases::delivery},
                                         {"departures_of_processes", process_cases::departures}};
::support::cases const dying = process_cases::dying();

}  // namespace
