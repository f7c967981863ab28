// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip one_compiler (what it needs is in a guest)
//
// Hosts of two processes each: shared memory within a host, RDMA between hosts.
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <laws/transport_failure.hpp>
#include <support/counted_registrations.hpp>
#include <support/emulated_hosts.hpp>
#include <support/process_ranks.hpp>
#include <support/rdma_device.hpp>
#include <support/worlds.hpp>
#include <tutti/allocator.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/verbs/verbs.hpp>

namespace {

using tutti::flow;
using tutti::support::registrations;
using tutti::support::verdict;
using hosts = tutti::support::emulated_hosts<tutti::shared_memory, tutti::verbs>;
using bare = tutti::laws::world<hosts, tutti::support::process_ranks>;

static_assert(tutti::provides_memory<hosts> && tutti::shares_memory<hosts>);

BOOST_AUTO_TEST_CASE(delivery) {
  tutti::laws::delivers_everything_in_order<bare>(4, 100'003);
}
BOOST_AUTO_TEST_CASE(faults) {
  tutti::laws::the_first_fault_wins<bare>(4, false);
  tutti::laws::a_dead_process_is_found<bare>(4, 3);
}

/// Peers on other hosts also read a long message in place, so no step may overwrite it before they have.
BOOST_AUTO_TEST_CASE(all_peers_share) {
  tutti::laws::check_all(bare::run(4, [](auto& t) -> verdict {
    flow const s{0, 1};
    std::vector<std::byte> const bytes(100'000);
    t.begin(s, tutti::laws::a_call(1));
    for (tutti::rank_type peer = 0; peer < 4; ++peer) {
      bool const far = peer / 2 != t.rank() / 2;
      if (far && (!t.shares(peer, s, bytes) || t.shares(peer, s, std::span(bytes).first(4)))) {
        return "what rank " + std::to_string(peer) + " would read is not known";
      }
    }
    return "";
  }));
}

BOOST_AUTO_TEST_CASE(collectives) {
  support::agree<hosts>(4, [](auto& world) {
    tutti::hierarchical const by_hosts{tutti::binary_tree{}, tutti::ring{}, world.hosts()};
    return laws::allreduce(world, by_hosts, tutti::sum<float>{}, 20'011, 0) +
           laws::broadcast<laws::triple>(world, by_hosts, 4099, 0, 1) +
           laws::allreduce(world, tutti::ring{}, laws::wide_mean{}, 4099, 0) +
           laws::allreduce(world, tutti::butterfly{}, tutti::sum<float>{}, 20'011, 0);
  });
}

/// The memory that the ranks of a host share is registered once, too.
BOOST_AUTO_TEST_CASE(shared_memory_is_registered_once) {
  support::agree<hosts>(4, [](auto& world) -> std::string {
    std::vector<float, tutti::allocator<float>> values(100'000, 0, tutti::allocator<float>(world));
    std::vector<float> ordinary(values.size());
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    sum(values);
    int const count_before = registrations;
    for (int i = 0; i < 10; ++i) {
      std::fill(values.begin(), values.end(), 1.0F);
      sum(values);
      if (values != decltype(values)(values.size(), 4.0F, values.get_allocator())) {
        return "a sum is wrong";
      }
    }
    int const of_shared = registrations - count_before;
    sum(ordinary);
    int const of_ordinary = registrations - count_before - of_shared;
    return of_shared == 0 && of_ordinary != 0 ? "" : std::to_string(of_shared) + " registrations";
  });
}

}  // namespace
