// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <vector>

namespace tutti::inline v0_1_0 {

/// The unit of virtual time. A byte takes 80 ps on a link of 100 Gbit/s, so sums are exact; 64 bits hold a hundred
/// days.
using picoseconds = std::chrono::duration<std::int64_t, std::pico>;

/// Time of one byte on a link of this many Gbit/s, rounded to a picosecond; 2.5 Gbit/s give 3200 ps.
/// @pre per_second is between 1e-9 (one bit a second) and 8000 (one byte a picosecond)
[[nodiscard]] constexpr picoseconds at_gigabits(double per_second) {
  expects(per_second >= 1e-9 && per_second <= 8000, "at_gigabits: the rate must be from 1e-9 to 8000 Gbit/s, not ",
          per_second);
  return picoseconds(static_cast<std::int64_t>(8000 / per_second + 0.5));
}

/// The parameters of LogGP (Alexandrov, Ionescu, Schauser, Scheiman: LogGP, SPAA 1995) for one class of interfaces. P
/// is the number of ranks.
struct loggp {
  picoseconds latency{};   ///< L: from interface to interface
  picoseconds overhead{};  ///< o: processor time of a message, at each end
  picoseconds gap{};       ///< g: shortest time between two messages of an interface
  picoseconds per_byte{};  ///< G: time for which a byte occupies an interface
};

/// A cluster: hosts, each with one interface (NIC), on a tree of switches. Switches have no limit of their own. The
/// bottleneck is the link from a switch to its parent: all messages that enter or leave its subtree share that link,
/// each direction separately. Parallel cables are modelled as one link.
struct simulated_network {
  static constexpr std::uint32_t no_switch = UINT32_MAX;  ///< the parent of the root

  /// A computer with ranks.
  struct host {
    std::uint32_t switch_number = 0;  ///< the number of its switch
    loggp nic{};                      ///< its interface
  };
  /// A link from a switch to its parent.
  struct uplink {
    picoseconds latency{};   ///< from end to end
    picoseconds per_byte{};  ///< time for which a byte occupies the link
  };
  /// A switch.
  struct node {
    std::uint32_t parent = no_switch;  ///< the number of the switch above; `none` for the root
    uplink up{};                       ///< link to the parent
  };

  std::vector<node> switches;  ///< the first is the root; each other one comes after its parent
  std::vector<host> hosts;     ///< hosts of one switch are adjacent
  loggp memory{};              ///< between ranks of one host; each rank has one path in and one out
  picoseconds combine{};       ///< processor time to combine or copy a byte
  bool sums = false;  ///< the root aggregates: `automatic` may pick `in_network`. An explicit choice works without it
};

/// Hosts on one switch; only the interfaces are shared.
[[nodiscard]] inline simulated_network one_switch(std::uint32_t hosts, loggp nic) {
  return {.switches = {{}}, .hosts = std::vector<simulated_network::host>(hosts, {0, nic})};
}

/// Two switches, each with `hosts_each` hosts, and one trunk between them.
[[nodiscard]] inline simulated_network two_switches(std::uint32_t hosts_each, loggp nic,
                                                    simulated_network::uplink trunk) {
  simulated_network net = one_switch(hosts_each, nic);
  net.switches.push_back({0, trunk});
  net.hosts.insert(net.hosts.end(), hosts_each, {1, nic});
  return net;
}

/// Leaf switches, each with `hosts_each` hosts, under one spine. The network is oversubscribed if an uplink is slower
/// than its hosts together.
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

/// Fills host after host, and so switch after switch: neighbouring ranks are close. With fewer ranks than hosts, each
/// rank has a host for itself.
[[nodiscard]] inline placement in_order(simulated_network const& net, rank_type ranks) {
  auto const hosts = static_cast<std::uint32_t>(net.hosts.size());
  placement place(ranks);
  for (rank_type r = 0; r < ranks; ++r) {
    place[r] = ranks <= hosts ? r : static_cast<std::uint32_t>(std::uint64_t{r} * hosts / ranks);
  }
  return place;
}

/// Deals ranks to the switches in turn, and to the hosts of each: neighbouring ranks are far apart.
[[nodiscard]] inline placement dealt(simulated_network const& net, rank_type ranks) {
  std::vector<std::vector<std::uint32_t>> hosts_of_switch(net.switches.size());
  for (std::uint32_t h = 0; h < net.hosts.size(); ++h) {
    hosts_of_switch[net.hosts[h].switch_number].push_back(h);
  }
  placement order;
  for (std::size_t turn = 0; order.size() < net.hosts.size(); ++turn) {
    for (auto const& hosts : hosts_of_switch) {
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
