// SPDX-License-Identifier: Apache-2.0
// test: plain (the engine is the same over loopback, ranks are processes)
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <support/emulated_hosts.hpp>
#include <support/worlds.hpp>
#include <tutti/detail/bootstrap/team_rendezvous.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/trace/memory_trace.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

using tutti::rank_type;
using tutti::support::hosts_of;

namespace {

using threads = tutti::support::emulated_hosts<tutti::loopback, tutti::tcp>;
using processes = tutti::support::emulated_hosts<tutti::shared_memory, tutti::tcp>;

template <class Transport>
void equal_the_sequential_answer(rank_type per_host, std::initializer_list<rank_type> sizes) {
  hosts_of<Transport> const hosts(per_host);
  for (rank_type const n : sizes) {
    support::agree<Transport>(n, [](auto& world) {
      tutti::hierarchical const topology{tutti::binary_tree{}, tutti::ring{}, world.hosts()};
      std::string complaint = laws::reducing(world, topology, tutti::sum<float>{}, 4099);
      complaint = complaint.empty() ? laws::moving<laws::triple>(world, topology, 1023) : complaint;
      complaint = complaint.empty() ? laws::reducing(world, tutti::ring{}, laws::wide_mean{}, 1023) : complaint;
      complaint =
          complaint.empty() ? laws::reducing(world, tutti::double_tree{}, tutti::sum<float>{}, 4099) : complaint;
      return complaint.empty() ? laws::reducing(world, tutti::doubling{}, laws::composition{}, 1023) : complaint;
    });
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(threads_and_tcp) {
  equal_the_sequential_answer<threads>(2, {1, 2, 4, 6});
  equal_the_sequential_answer<threads>(3, {5, 6, 8});
}

BOOST_AUTO_TEST_CASE(processes_and_tcp) {
  equal_the_sequential_answer<processes>(2, {1, 2, 4, 6});
  equal_the_sequential_answer<processes>(3, {5, 6, 8});
}

BOOST_AUTO_TEST_CASE(a_world_tells_its_hosts) {
  hosts_of<processes> const hosts(3);
  support::agree<processes>(5, [](auto& world) -> std::string {
    rank_type const host = world.rank() / 3;
    bool const is_right = world.hosts().hosts() == 2 && world.hosts().host(world.rank()) == host &&
                          world.local_rank() == world.rank() % 3 && world.local_size() == (host == 0 ? 3 : 2);
    return is_right ? "" : "it tells others";
  });
}

// The transport itself finds that all ranks are on one host, and opens no connection.
BOOST_AUTO_TEST_CASE(one_host_needs_no_connection) {
  hosts_of<processes> const real_hosts(0);
  support::agree<processes>(4, [](auto& world) -> std::string {
    std::string const complaint = laws::reducing(world, tutti::ring{}, laws::wide_mean{}, 1023);
    return !complaint.empty()                                     ? complaint
           : world.local_size() != 4                              ? "it sees several hosts"
           : world.transport().between_hosts().connections() != 0 ? "it has connections"
                                                                  : "";
  });
}

// Peers on other hosts may read messages in place, too: a step that overwrites its message sends a copy.
BOOST_AUTO_TEST_CASE(what_far_peers_read_where_it_is_stays_as_it_was) {
  using readers = tutti::support::emulated_hosts<tutti::loopback, tutti::loopback>;
  hosts_of<readers> const hosts(1);
  support::agree<readers>(
      4, [](auto& world) { return laws::allreduce(world, tutti::doubling{}, tutti::sum<float>{}, 200'003, 0); });
}

// Only one rank of each host is connected to other hosts.
BOOST_AUTO_TEST_CASE(there_is_one_flow_between_hosts) {
  hosts_of<processes> const hosts(3);
  support::agree<processes>(6, [](auto& world) -> std::string {
    tutti::hierarchical const topology{tutti::binary_tree{}, tutti::ring{}, world.hosts()};
    std::string const complaint = laws::allreduce(world, topology, tutti::sum<float>{}, 100'000, 10'000);
    std::size_t const links = world.transport().between_hosts().connections();
    return !complaint.empty()                           ? complaint
           : links != (world.local_rank() == 0 ? 1 : 0) ? std::to_string(links) + " connections"
                                                        : "";
  });
}

// The bytes between two hosts of three ranks match the schedule: the vector once each way.
BOOST_AUTO_TEST_CASE(bytes_between_hosts_are_the_closed_form) {
  constexpr std::size_t count = 6000;
  hosts_of<processes> const hosts(3);
  auto const sent_between_hosts = [](auto make_topology) {
    std::uint64_t bytes = 0;
    for (auto const& end : tutti::detail::run_processes(6, [&](tutti::detail::process_rendezvous& meet) {
           tutti::communicator<processes, tutti::dynamic, tutti::memory_trace> world(meet, {}, tutti::memory_trace());
           tutti::allreduce sum{world, make_topology(world), tutti::sum<float>{}};
           std::vector<float> v(count, 1);
           sum(v);
           std::uint64_t sent_bytes = 0;
           world.trace().for_each([&](tutti::event const& e) {
             bool const is_remote =
                 e.kind == tutti::event_kind::send && world.hosts().host(e.peer) != world.hosts().host(world.rank());
             sent_bytes += is_remote ? e.bytes : 0;
           });
           return sent_bytes;
         })) {
      bytes += end.value();
    }
    return bytes;
  };
  std::uint64_t const vector = count * sizeof(float);
  BOOST_TEST(sent_between_hosts([](auto& world) {
               return tutti::hierarchical{tutti::binary_tree{}, tutti::ring{}, world.hosts()};
             }) == 2 * vector);
  BOOST_TEST(sent_between_hosts([](auto&) { return tutti::ring{}; }) == 2 * 5 * vector / 3);  // both borders, 5/6 twice
}

// A part of the world knows which of its ranks share a host.
BOOST_AUTO_TEST_CASE(a_part_of_the_world_has_hosts_too) {
  support::agree<threads>(6, [](auto& world) -> std::string {
    auto half = tutti::split(world, world.rank() % 2);
    if (half.size() != 3 || half.hosts().hosts() != 3) {
      return "three ranks are on " + std::to_string(half.hosts().hosts()) + " hosts";
    }
    return laws::reducing(half, tutti::ring{}, laws::wide_mean{}, 1023);
  });
}

// Several processes, of several threads each, which share memory only among themselves.
BOOST_AUTO_TEST_CASE(threads_of_several_processes) {
  hosts_of<threads> const real_hosts(0);
  auto const ends = tutti::detail::run_processes(3, [](tutti::detail::process_rendezvous& processes) {
    std::string complaints;
    rank_type const members = processes.rank() + 1;
    for (auto const& end :
         tutti::detail::run_threads(members, [&](tutti::detail::thread_rendezvous& seat) -> std::string {
           tutti::detail::team_rendezvous meet(seat, processes);
           tutti::communicator<threads> world(meet);
           world.deadline(std::chrono::seconds(40));
           if (world.size() != 6 || world.local_size() != members || world.hosts().hosts() != 3) {
             return "it does not know which ranks are where";
           }
           tutti::hierarchical const topology{tutti::binary_tree{}, tutti::ring{}, world.hosts()};
           return laws::reducing(world, topology, tutti::sum<float>{}, 4099);
         })) {
      complaints += end ? end.value() : end.failure().text;
    }
    return complaints;
  });
  for (auto const& end : ends) {
    BOOST_TEST((end ? end.value() : end.failure().text) == "");
  }
}
