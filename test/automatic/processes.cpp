// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE automatic_processes
#include <laws/reducing_operators.hpp>
#include <support/emulated_hosts.hpp>
#include <support/worlds.hpp>
#include <tutti/automatic.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <string>

namespace {

/// A world that is measured sums right by what is picked.
template <class Transport>
void sums_are_right() {
  for (auto const n : {2U, 3U}) {
    support::agree<Transport>(n, [](auto& world) {
      tutti::automatic const best(world, {.how = {.budget = std::chrono::milliseconds(1)}});
      return laws::reducing(world, best, tutti::sum<float>{}, 1023);
    });
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(through_shared_memory) {
  sums_are_right<tutti::shared_memory>();
}

BOOST_AUTO_TEST_CASE(over_tcp) {
  sums_are_right<tutti::tcp>();
}

// Messages within a host and between hosts are measured apart, and schedules that group hosts are among the ways.
BOOST_AUTO_TEST_CASE(by_locality_on_hosts_of_two) {
  using hosts_of_two = tutti::support::emulated_hosts<tutti::shared_memory, tutti::tcp, 2>;
  support::agree<hosts_of_two>(4, [](auto& world) -> std::string {
    tutti::automatic const best(world, {.how = {.budget = std::chrono::milliseconds(1)}});
    if (best.profile().hosts != 2 || best.profile().near.points.empty() || best.profile().far.points.empty()) {
      return "the profile is not of two hosts: " + tutti::to_text(best.profile());
    }
    std::size_t grouping = 0;
    for (tutti::prediction const& p : best.predict(tutti::op::allreduce{}, 4096)) {
      grouping += tutti::selection::groups_hosts(p.way.topology.kind()) ? 1U : 0U;
    }
    return grouping == 0 ? "no schedule that groups hosts is among the ways"
                         : laws::reducing(world, best, tutti::sum<float>{}, 1023);
  });
  sums_are_right<hosts_of_two>();
}
