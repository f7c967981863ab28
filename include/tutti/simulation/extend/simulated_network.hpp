// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <vector>

namespace tutti::inline v0_1_0 {

/// The unit of virtual time. A byte of a 100 Gbit/s link takes 80 of them, so that sums are exact; 64 bits hold a
/// hundred days.
using picoseconds = std::chrono::duration<std::int64_t, std::pico>;

/// Time of one byte on a link of this many Gbit/s, to the nearest picosecond: 2.5 Gbit/s are 3200.
/// @pre from a bit a second up to 8000 Gbit/s, where a byte takes one
[[nodiscard]] constexpr picoseconds at_gigabits(double per_second) {
  expects(per_second >= 1e-9 && per_second <= 8000, "at_gigabits: the rate must be from 1e-9 to 8000 Gbit/s, not ",
          per_second);
  return picoseconds(static_cast<std::int64_t>(8000 / per_second + 0.5));
}

/// The parameters of LogGP (Alexandrov, Ionescu, Schauser, Scheiman: LogGP, SPAA 1995) for one class
/// of interfaces. P is the number of ranks.
struct loggp {
  picoseconds latency{};   ///< L: from interface to interface
  picoseconds overhead{};  ///< o: what a message takes of a processor, at each end
  picoseconds gap{};       ///< g: the least time between two messages of an interface
  picoseconds per_byte{};  ///< G: how long a byte keeps an interface busy
};

/// A cluster: hosts, each with one interface (NIC), on a tree of switches. A switch passes on whatever
/// comes in; what can be short is the link that ties it to its parent, which all messages to and from
/// its part of the tree share, each direction on its own. Several parallel cables are one link here.
struct simulated_network {
  static constexpr std::uint32_t none = UINT32_MAX;  ///< no switch: the parent of the root

  /// A computer with ranks.
  struct host {
    std::uint32_t on = 0;  ///< its switch
    loggp nic{};           ///< its interface
  };
  /// A link from a switch to its parent.
  struct uplink {
    picoseconds latency{};   ///< from end to end
    picoseconds per_byte{};  ///< how long a byte keeps it busy
  };
  /// A switch.
  struct node {
    std::uint32_t parent = none;  ///< the number of the switch above it; none: it is the root
    uplink up{};                  ///< to the parent
  };

  std::vector<node> switches;  ///< the first is the root; every other one comes after its parent
  std::vector<host> hosts;     ///< those of one switch after each other
  loggp memory{};              ///< between ranks of one host, each of which has a way in and a way out
  picoseconds combine{};       ///< what the processor takes to combine or copy a byte
  bool sums = false;  ///< `automatic` may pick `in_network`: the root sums. It does, too, where a user picks it
};

/// Hosts on one switch: nothing is shared but the interfaces.
[[nodiscard]] inline simulated_network one_switch(std::uint32_t hosts, loggp nic) {
  return {.switches = {{}}, .hosts = std::vector<simulated_network::host>(hosts, {0, nic})};
}

/// Two switches, each with this many hosts, and one trunk between them.
[[nodiscard]] inline simulated_network two_switches(std::uint32_t hosts_each, loggp nic,
                                                    simulated_network::uplink trunk) {
  simulated_network net = one_switch(hosts_each, nic);
  net.switches.push_back({0, trunk});
  net.hosts.insert(net.hosts.end(), hosts_each, {1, nic});
  return net;
}

/// Leaf switches, each with this many hosts, under one that joins them. An uplink that is slower than
/// its hosts together is oversubscribed.
[[nodiscard]] inline simulated_network leaves_and_spine(std::uint32_t leaves, std::uint32_t hosts_each, loggp nic,
                                                        simulated_network::uplink up) {
  simulated_network net = one_switch(0, nic);
  for (std::uint32_t leaf = 1; leaf <= leaves; ++leaf) {
    net.switches.push_back({0, up});
    net.hosts.insert(net.hosts.end(), hosts_each, {leaf, nic});
  }
  return net;
}

/// Host of each rank.
using placement = std::vector<std::uint32_t>;

/// Ranks fill host after host, and so switch after switch: neighbours in rank are neighbours. If there
/// are fewer ranks than hosts, each has a host for itself.
[[nodiscard]] inline placement in_order(simulated_network const& net, rank_type ranks) {
  auto const hosts = static_cast<std::uint32_t>(net.hosts.size());
  placement place(ranks);
  for (rank_type r = 0; r < ranks; ++r) {
    place[r] = ranks <= hosts ? r : static_cast<std::uint32_t>(std::uint64_t{r} * hosts / ranks);
  }
  return place;
}

/// Ranks are dealt to the switches like cards, and to the hosts of each: neighbours in rank are apart.
[[nodiscard]] inline placement dealt(simulated_network const& net, rank_type ranks) {
  std::vector<std::vector<std::uint32_t>> of(net.switches.size());
  for (std::uint32_t h = 0; h < net.hosts.size(); ++h) {
    of[net.hosts[h].on].push_back(h);
  }
  placement order;
  for (std::size_t turn = 0; order.size() < net.hosts.size(); ++turn) {
    for (auto const& hosts : of) {
      if (turn < hosts.size()) {
        order.push_back(hosts[turn]);
      }
    }
  }
  placement place(ranks);
  for (rank_type r = 0; r < ranks; ++r) {
    place[r] = order[r % order.size()];
  }
  return place;
}

}  // namespace tutti
