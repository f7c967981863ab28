// SPDX-License-Identifier: Apache-2.0
// test: address may_skip (threads do not meet)
#include <tutti/detail/fpga_nic/udp_port.hpp>
#include <tutti/error.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <deque>
#include <iostream>
#include <poll.h>
#include <string>
#include <vector>

// Ports that hear what is sent to a group, through the system's own loopback.

namespace nic = tutti::detail::fpga_nic;
namespace net = tutti::detail::net;

namespace {

/// A group that other programs are not likely to have, at a port that is free now.
nic::udp_group any_group(std::string const& host, std::string const& group) {
  auto const here = net::resolve(host, 0).front();
  nic::udp_port const probe(here);
  return {net::resolve(group, net::local_address(probe.descriptor()).port()).front(), here};
}

/// Ports in a group, or none where the system has no such.
std::deque<nic::udp_port> ports_in(nic::udp_group const& group, std::size_t count, nic::udp_options const& options) {
  std::deque<nic::udp_port> all;
  try {
    for (std::size_t i = 0; i < count; ++i) {
      all.emplace_back(group.by, options).join(group);
    }
    return all;
  } catch (tutti::error const& e) {
    std::cout << "SKIP: " << e.what() << '\n';
    return {};
  }
}

/// The sequences that come to a port, until there are as many.
std::vector<std::uint32_t> receive(nic::udp_port& at, std::size_t count) {
  std::vector<std::uint32_t> got;
  pollfd one{at.descriptor(), POLLIN, 0};
  while (got.size() < count && ::poll(&one, 1, 10'000) == 1) {
    at.drain([&](nic::endpoint const&, std::span<std::byte const> bytes, bool) {
      nic::packet p;
      if (nic::seal().read(bytes, p) == nic::reading::good) {
        got.push_back(p.head.sequence);
      }
    });
  }
  return got;
}

void send(nic::udp_port& from, nic::endpoint const& to, std::uint32_t sequence) {
  static constexpr std::array<std::byte, nic::most_payload> payload{};
  BOOST_TEST(from.send(to,
                       {.kind = nic::kind::result,
                        .operation = tutti::network_operation::copy,
                        .sequence = sequence,
                        .length = payload.size(),
                        .workers = 1},
                       payload));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_packet_to_a_group_comes_to_all_ports_and_one_to_a_port_to_that_alone) {
  for (bool const offload : {true, false}) {
    nic::udp_group const group = any_group("127.0.0.1", "239.192.7.7");
    auto all = ports_in(group, 3, {.offload = offload});
    for (std::uint32_t round = 0; round < 2 && !all.empty(); ++round) {
      for (std::uint32_t q = 0; q < 50; ++q) {
        send(all[round], nic::endpoint(group.at), q);
      }
      send(all[round], all[2].local(), 50);
      BOOST_TEST(all[round].flush());
      for (std::size_t i = 0; i < all.size(); ++i) {
        BOOST_TEST(receive(all[i], i == 2 ? 51 : 50).size() == (i == 2 ? 51U : 50U));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_sent_to_another_group_is_not_heard) {
  nic::udp_group const group = any_group("127.0.0.1", "239.192.7.7");
  nic::udp_group other = group;
  other.at = net::resolve("239.192.7.8", group.at.port()).front();
  auto ours = ports_in(group, 2, {});
  auto theirs = ports_in(other, 1, {});
  if (!ours.empty() && !theirs.empty()) {
    send(theirs[0], nic::endpoint(other.at), 1);
    BOOST_TEST(theirs[0].flush());
    BOOST_TEST(receive(theirs[0], 1).size() == 1U);  // by now it would be everywhere
    send(ours[0], nic::endpoint(group.at), 2);
    BOOST_TEST(ours[0].flush());
    BOOST_TEST(receive(ours[1], 1) == std::vector<std::uint32_t>{2}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_group_at_an_address_of_no_interface_is_refused) {
  nic::udp_group group = any_group("127.0.0.1", "239.192.7.7");
  nic::udp_port port(group.by);
  group.by = net::resolve("192.0.2.1", 0).front();
  BOOST_CHECK_EXCEPTION(port.join(group), tutti::error, [](tutti::error const& e) {
    return std::string(e.what()).find("the interface of 192.0.2.1: there is none") != std::string::npos;
  });
}
