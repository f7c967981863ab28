// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/verdict.hpp>
#include <tutti/simulation/simulate.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <type_traits>

namespace support {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// 100 Gbit/s, and no overhead.
inline constexpr tutti::loggp fast{.latency = microseconds(1), .per_byte = tutti::at_gigabits(100)};

/// Worlds that have everything that takes time: two ranks a host, hosts on two switches, overheads,
/// gaps, arithmetic.
[[nodiscard]] inline tutti::simulated_network busy_cluster() {
  tutti::loggp const nic{microseconds(2), nanoseconds(300), nanoseconds(100), tutti::at_gigabits(25)};
  auto net = tutti::two_switches(5, nic, {nanoseconds(500), tutti::at_gigabits(40)});
  net.memory = {nanoseconds(200), nanoseconds(50), nanoseconds(20), tutti::at_gigabits(80)};
  net.combine = tutti::picoseconds(50);
  return net;
}

/// Runs `check(world)` on every rank of a simulated world of n. What it returns, or throws, is a
/// complaint.
template <class Check>
void agree_in_virtual_time(tutti::rank_type n, Check check, tutti::simulation_options const& options = {}) {
  auto const outcome = tutti::simulate(
      busy_cluster(), n, [&](auto& world) -> std::string { return check(world); }, options);
  for (tutti::rank_type r = 0; r < n; ++r) {
    std::string const complaint = outcome.results[r] ? outcome.results[r].value() : outcome.results[r].failure().text;
    BOOST_TEST(complaint.empty(), "rank " << r << " of " << n << ": " << complaint);
  }
}

/// For the laws of transports: bare transports, no communicator.
struct simulated_transports {
  using transport = tutti::simulated_transport;

  template <class F>
  static std::vector<tutti::support::verdict> run(tutti::rank_type n, F const& f) {
    tutti::simulation_options options;
    options.window = 16;
    options.look = microseconds(5);  // these laws look again and again for what they wait for
    auto const outcome = tutti::detail::run_simulated(
        busy_cluster(), n,
        [&](tutti::detail::simulated_rendezvous& meet,
            tutti::detail::simulator& simulation) -> tutti::support::verdict {
          tutti::simulated_transport t(meet, tutti::detail::simulated_access::options(simulation, meet.rank()));
          if constexpr (std::is_invocable_v<F const&, tutti::simulated_transport&,
                                            tutti::detail::simulated_rendezvous&>) {
            return f(t, meet);
          } else {
            return f(t);
          }
        },
        options);
    return tutti::support::verdicts_of(outcome.results);
  }
};

}  // namespace support
