// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/in_network/extend/udp_options.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0 {

/// IP multicast as the network of a group, over the interface through which other ranks reach this host.
struct group_over_udp {
  /// Address of the group, and the socket to reach it.
  struct options {
    /// The group, "239.192.1.2:5000" or "[ff15::7]:5000"; rank 0's is used by all. Empty: TUTTI_MULTICAST, or else a
    /// random organisation-local one. "none": no group.
    std::string group{};
    int hops = 1;          ///< 1: packets cross no router
    udp_options socket{};  ///< the socket of this rank
  };
};

/// Settings of a rank in a world with a multicast group; equal on all ranks, but for the group, which is rank 0's.
template <class Host, class Network>
struct udp_multicast_options {
  typename options_of<Host>::type host{};  ///< settings of the transport Host
  typename Network::options network{};     ///< settings of the network of the groups
  /// Packets of 1 KiB that a broadcast may have in flight, 4 to 4096; fewer if a rank's socket buffer is smaller.
  std::uint32_t window = 512;
  /// Time for which the ranks of a new world probe the group.
  duration probe_time = std::chrono::seconds(1);
};

/// Counters of packets between a rank and its group.
struct udp_multicast_counters {
  std::uint64_t group_packets = 0;    ///< packets to the group, without repairs
  std::uint64_t group_repairs = 0;    ///< repairs sent to the group
  std::uint64_t single_repairs = 0;   ///< repairs sent to one rank
  std::uint64_t reports = 0;          ///< progress reports of this rank
  std::uint64_t queries = 0;          ///< queries to silent ranks
  std::uint64_t ignored_packets = 0;  ///< packets that belong to nothing under way
};

}  // namespace tutti
