// SPDX-License-Identifier: Apache-2.0
// test: address may_skip comma (the in-process network is what threads meet at)
#include <laws/late.hpp>
#include <laws/moving_operators.hpp>
#include <support/secret_meeting.hpp>
#include <support/worlds.hpp>
#include <tutti/dup.hpp>
#include <tutti/error.hpp>
#include <tutti/in_network/detail/multicast/early_packets.hpp>
#include <tutti/in_network/detail/multicast/group_view.hpp>
#include <tutti/in_network/detail/multicast/reachability.hpp>
#include <tutti/in_network/detail/udp/networks.hpp>
#include <tutti/in_network/detail/udp/rate_control.hpp>
#include <tutti/in_network/detail/udp/udp_inbox.hpp>
#include <tutti/in_network/detail/udp/udp_port.hpp>
#include <tutti/in_network/detail/udp/udp_socket.hpp>
#include <tutti/in_network/udp_multicast.hpp>
#include <tutti/in_network/udp_multicast_options.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <deque>
#include <iostream>
#include <numeric>
#include <poll.h>
#include <string>
#include <vector>

// Ports that receive packets of a group, and ranks that broadcast with it, over the system's loopback.

namespace udp = tutti::detail::udp;
namespace net = tutti::detail::net;

namespace {

/// A group that other programs are unlikely to use, at a free port.
udp::udp_group any_group(std::string const& host, std::string const& group) {
  auto const host_address = net::resolve(host, 0).front();
  udp::udp_port const probe(host_address);
  return {net::resolve(group, net::local_address(probe.descriptor()).port()).front(), host_address};
}

/// Ports in a group, or none if the system does not support it.
std::deque<udp::udp_port> ports_in(udp::udp_group const& group, std::size_t count, tutti::udp_options const& options) {
  std::deque<udp::udp_port> ports;
  try {
    for (std::size_t i = 0; i < count; ++i) {
      ports.emplace_back(group.interface_address, options).join(group);
    }
    return ports;
  } catch (tutti::error const& e) {
    std::cout << "SKIP: " << e.what() << '\n';
    return {};
  }
}

/// The sequences that arrive at a port, up to this count.
std::vector<std::uint32_t> receive(udp::udp_port& port, std::size_t count) {
  std::vector<std::uint32_t> sequences;
  pollfd entry{port.descriptor(), POLLIN, 0};
  while (sequences.size() < count && ::poll(&entry, 1, 10'000) == 1) {
    port.drain([&](udp::endpoint const&, std::span<std::byte const> bytes, bool) {
      udp::packet p;
      if (udp::seal().read(bytes, p) == udp::reading::good) {
        sequences.push_back(p.head.sequence);
      }
    });
  }
  return sequences;
}

void send(udp::udp_port& source, udp::endpoint const& destination, std::uint32_t sequence) {
  static constexpr std::array<std::byte, udp::max_payload> payload{};
  BOOST_TEST(source.send(destination,
                         {.kind = udp::kind::result,
                          .operation = tutti::network_operation::copy,
                          .sequence = sequence,
                          .length = payload.size(),
                          .workers = 1},
                         payload));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_packet_to_a_group_comes_to_all_ports_and_one_to_a_port_to_that_alone) {
  for (bool const offload : {true, false}) {
    udp::udp_group const group = any_group("127.0.0.1", "239.192.7.7");
    auto ports = ports_in(group, 3, {.offload = offload});
    for (std::uint32_t round = 0; round < 2 && !ports.empty(); ++round) {
      for (std::uint32_t q = 0; q < 50; ++q) {
        send(ports[round], udp::endpoint(group.at), q);
      }
      send(ports[round], ports[2].own_address(), 50);
      BOOST_TEST(ports[round].flush());
      for (std::size_t i = 0; i < ports.size(); ++i) {
        std::vector<std::uint32_t> expected(i == 2 ? 51 : 50);
        std::iota(expected.begin(), expected.end(), 0U);
        auto sequences = receive(ports[i], expected.size());
        std::ranges::sort(sequences);
        BOOST_TEST(sequences == expected, boost::test_tools::per_element());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_sent_to_another_group_is_not_heard) {
  udp::udp_group const group = any_group("127.0.0.1", "239.192.7.7");
  udp::udp_group other = group;
  other.at = net::resolve("239.192.7.8", group.at.port()).front();
  auto own_ports = ports_in(group, 2, {});
  auto other_ports = ports_in(other, 1, {});
  if (!own_ports.empty() && !other_ports.empty()) {
    send(other_ports[0], udp::endpoint(other.at), 1);
    BOOST_TEST(other_ports[0].flush());
    BOOST_TEST(receive(other_ports[0], 1).size() == 1U);  // after this packet, the other one would have arrived, too
    send(own_ports[0], udp::endpoint(group.at), 2);
    BOOST_TEST(own_ports[0].flush());
    BOOST_TEST(receive(own_ports[1], 1) == std::vector<std::uint32_t>{2}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_group_at_an_address_of_no_interface_is_refused) {
  udp::udp_group group = any_group("127.0.0.1", "239.192.7.7");
  udp::udp_port port(group.interface_address);
  group.interface_address = net::resolve("192.0.2.1", 0).front();
  BOOST_CHECK_EXCEPTION(port.join(group), tutti::error, [](tutti::error const& e) {
    return std::string(e.what()).find("the interface of 192.0.2.1: there is none") != std::string::npos;
  });
}

namespace {

/// Broadcasts over a world and a duplicate at one time, and over a part of it; the groups do not mix.
template <class World>
std::string broadcasts(World& world) {
  auto duplicate = tutti::dup(world);
  tutti::broadcast world_broadcast{world, tutti::in_network{}};
  tutti::broadcast duplicate_broadcast{duplicate, tutti::in_network{}};
  for (tutti::rank_type root = 0; root != world.size(); ++root) {
    std::vector<float> a(300'000, static_cast<float>(world.rank()));
    std::vector<float> b(1000, static_cast<float>(world.rank() + 1));
    world_broadcast.segment(root % 2 == 0 ? 0 : 100'000);
    auto first = world_broadcast.start(a, root);
    auto second = duplicate_broadcast.start(b, root);
    first.wait();
    second.wait();
    if (a != std::vector<float>(a.size(), static_cast<float>(root)) ||
        b != std::vector<float>(b.size(), static_cast<float>(root + 1))) {
      return "another vector";
    }
  }
  auto part = tutti::split(world, world.rank() % 2, world.rank());
  bool const alike = part.transport().has_aggregator() == (world.transport().has_aggregator() && part.size() > 1);
  std::string const complaint = laws::broadcast<std::uint32_t>(part, tutti::in_network{}, 3000, 0, part.size() - 1);
  return !alike              ? "a part of the world has no group"
         : complaint.empty() ? laws::moving<laws::triple>(world, tutti::in_network{}, 1023)
                             : complaint;
}

/// True if a packet to a group reaches another port of this host.
bool carries_groups() {
  static bool const carries = [] {
    udp::udp_group const group = any_group("127.0.0.1", "239.192.7.9");
    auto ports = ports_in(group, 2, {});
    if (ports.empty()) {
      return false;
    }
    send(ports[0], udp::endpoint(group.at), 1);
    return ports[0].flush() && receive(ports[1], 1).size() == 1;
  }();
  return carries;
}

/// Complains if there is a group and a world of several ranks does not use it.
template <class World>
std::string uses_group(World& world, bool is_there) {
  return world.size() > 1 && world.transport().has_aggregator() != is_there ? "the group is not used"
         : is_there && world.size() > 1 && world.transport().counts().group_packets < 1172
             ? "fewer packets than the longest vector has"
             : "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_that_are_threads_broadcast) {
  bool const is_there = carries_groups();
  for (tutti::rank_type const n : {1U, 2U, 4U}) {
    support::agree<tutti::udp_multicast<tutti::loopback>>(n, [is_there](auto& world) {
      std::string const complaint = broadcasts(world);
      return complaint.empty() ? uses_group(world, is_there) : complaint;
    });
  }
}

BOOST_AUTO_TEST_CASE(ranks_with_a_secret_broadcast) {
  bool const is_there = carries_groups();
  for (auto const& result : tutti::detail::run_threads(3, [is_there](auto& seat) {
         support::secret_meeting meet{&seat};
         tutti::communicator<tutti::udp_multicast<tutti::loopback>> world(meet);
         std::string const complaint = broadcasts(world);
         return complaint.empty() ? uses_group(world, is_there) : complaint;
       })) {
    std::string const complaint = result ? result.value() : result.failure().text;
    BOOST_TEST(complaint.empty(), complaint);
  }
}

BOOST_AUTO_TEST_CASE(ranks_that_are_processes_broadcast) {
  bool const is_there = carries_groups();
  support::agree<tutti::udp_multicast<tutti::tcp>>(3, [is_there](auto& world) {
    std::string const complaint = broadcasts(world);
    return complaint.empty() ? uses_group(world, is_there) : complaint;
  });
}

BOOST_AUTO_TEST_CASE(a_world_that_is_told_to_have_no_group_has_none) {
  tutti::world_options<tutti::udp_multicast<tutti::loopback>> options;
  options.transport.network.group = "none";
  auto const results = tutti::spawn<tutti::udp_multicast<tutti::loopback>>(
      2,
      [](auto& world) {
        bool const is_said = world.transport().no_group_reason().find("TUTTI_MULTICAST") != std::string::npos;
        return world.transport().has_aggregator() ? "there is one" : is_said ? broadcasts(world) : "no reason is given";
      },
      options);
  BOOST_TEST((results[0] && results[0].value().empty() && results[1] && results[1].value().empty()));
}

// The number of a link differs from host to host.
BOOST_AUTO_TEST_CASE(addresses_that_hold_for_one_link_are_told_without_it) {
  bool has_link_address = false;
  for (net::network_interface const& i : net::interfaces()) {
    if (!i.at.is_link_local()) {
      continue;
    }
    has_link_address = true;
    tutti::detail::multicast::udp_network host_address(i.at.host(), {});
    BOOST_TEST(host_address.endpoint_info().find('%') == std::string::npos);
    BOOST_TEST((host_address.address_of(host_address.endpoint_info()) == host_address.own_port().own_address()));
    std::string const cards[] = {host_address.endpoint_info()};
    for (char const* const group : {"[ff15::7:7]:17170", "[ff12::7:7]:17171"}) {
      BOOST_TEST(host_address.join(group, cards) == "");
    }
  }
  if (!has_link_address) {
    std::cout << "SKIP: no interface has an address of IPv6 that holds for its link\n";
  }
  auto const zone = net::resolve("ff12::7%lo", 1).front().zone();
  BOOST_TEST(zone != 0U);
  BOOST_TEST(net::resolve("ff12::7", 1).front().with_zone(zone).zone() == zone);
  BOOST_TEST(net::resolve("ff15::7", 1).front().with_zone(zone).zone() == 0U);
}

BOOST_AUTO_TEST_CASE(an_address_that_is_no_group_is_refused_by_all) {
  for (char const* const address : {"10.0.0.1:5000", "239.1.2.3", "240.0.0.1:1", "group"}) {
    tutti::world_options<tutti::udp_multicast<tutti::loopback>> options;
    options.transport.network.group = address;
    auto const results = tutti::spawn<tutti::udp_multicast<tutti::loopback>>(
        2, [](auto&) { return 0; }, options);
    for (auto const& result : results) {
      BOOST_TEST((!result && result.failure().text.find(std::string("not \"") + address) != std::string::npos),
                 (result ? "it joined" : result.failure().text));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_never_comes_is_named) {
  for (tutti::rank_type const late : {0U, 2U}) {
    std::string const complaint = laws::all_but_one<tutti::udp_multicast<tutti::loopback>>(3, late, [](auto& world) {
      std::vector<float> v(1 << 20);
      tutti::broadcast share{world, tutti::in_network{}};
      share(v, 0);
      share(v, 1);
    });
    BOOST_TEST(complaint.empty(), complaint);
  }
}

// The killed rank fills the root's window; the root waits for acknowledgements, and not for a message.
BOOST_AUTO_TEST_CASE(a_rank_that_is_killed_before_it_gets_anything_is_named) {
  for (tutti::rank_type const victim : {0U, 2U}) {
    tutti::world_options<tutti::udp_multicast<tutti::tcp>> options;
    options.deadline = std::chrono::seconds(20);
    auto const results = tutti::spawn<tutti::udp_multicast<tutti::tcp>>(
        3,
        [&](auto& world) {
          std::vector<float> v(1 << 20);
          tutti::broadcast share{world, tutti::in_network{}};
          if (world.rank() == victim) {
            ::raise(SIGKILL);
          }
          share(v, 0);
          share(v, victim);  // a rank that has the whole first message needs no other receiver
        },
        options);
    for (tutti::rank_type r = 0; r != 3; ++r) {
      if (r != victim) {
        std::string const text = results[r] ? "it did not fail" : results[r].failure().text;
        BOOST_TEST((!results[r] && results[r].failure().kind == tutti::failure::peer_lost), text);
        BOOST_TEST((!results[r] && results[r].failure().at_fault == std::vector<tutti::rank_type>{victim}), text);
      }
    }
  }
}
