// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/in_network/extend/udp_options.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0 {

/// IP multicast as the network of a group, through the interface by which the other ranks reach this host.
struct group_over_udp {
  /// The place of the group, and how this rank reaches it.
  struct options {
    /// "239.192.1.2:5000" or "[ff15::7]:5000": the group, as rank 0 has it. Empty: TUTTI_MULTICAST, or else one is
    /// drawn among those of an organisation. "none": there is none.
    std::string group{};
    int hops = 1;          ///< 1: packets pass no router
    udp_options socket{};  ///< the socket of this rank
  };
};

/// The settings of a rank in a world with a multicast group. All ranks give the same; the group is rank 0's.
template <class Host, class Network>
struct udp_multicast_options {
  typename options_of<Host>::type host{};  ///< settings of the transport that it stands on
  typename Network::options network{};     ///< settings of the network of the groups
  /// Packets of 1 KiB that a broadcast has under way, 4 to 4096; fewer where a rank's system keeps fewer.
  std::uint32_t window = 512;
  /// The time that ranks that open a world try whether packets to the group come to all.
  duration patience = std::chrono::seconds(1);
};

/// The numbers of packets that a rank has sent to its group, and got from it.
struct udp_multicast_counters {
  std::uint64_t sent = 0;      ///< packets to the group, each for the first time
  std::uint64_t repeated = 0;  ///< packets that were sent again, to the group
  std::uint64_t alone = 0;     ///< packets that were sent again, to one rank
  std::uint64_t reports = 0;   ///< reports of how far this rank has come
  std::uint64_t asked = 0;     ///< questions to ranks that were silent
  std::uint64_t ignored = 0;   ///< packets that belong to nothing that is under way
};

}  // namespace tutti
