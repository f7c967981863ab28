// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/in_network/extend/udp_options.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0 {

/// UDP as the network of a device: a soft switch, or hardware.
struct device_over_udp {
  /// Addresses of devices, and the socket to reach them.
  struct options {
    /// The address of the device, "host:port"; rank 0's is used by all. Empty: TUTTI_FPGA_NIC, or else no device.
    std::string device{};
    /// The address of the device of this rank's rack, if each rack has one. Empty: TUTTI_FPGA_NIC_RACK, or else
    /// `device`.
    std::string rack{};
    udp_options socket{};  ///< the socket of this rank
    /// A file with 32 hexadecimal digits, equal on all ranks and at the device, the key of the packets' tags. Empty:
    /// TUTTI_FPGA_NIC_KEY, or else packets to a device have no tag.
    std::string key_file{};
  };
};

/// Settings of a rank in a world with a device in its network; equal on all ranks, but for the device's address,
/// which is rank 0's.
template <class Host, class Network>
struct fpga_nic_options {
  typename options_of<Host>::type host{};  ///< settings of the transport Host
  typename Network::options network{};     ///< settings of the network of the device
  /// Packets of 1 KiB that a lane may have in flight, a power of two. A device that grants fewer is not used.
  std::uint32_t slot_count = 256;
  /// Time without any packet of the device, from the first query without an answer, after which rank 0 serves in its
  /// place. That query is sent 2 to 100 ms after the packet whose answer is late.
  duration silence = std::chrono::milliseconds(200);
  /// Time for which the device remembers an idle rank.
  duration lease = std::chrono::seconds(60);
  /// Share of packets, of 256, that rank 0 serves in spite of a device; for tests.
  std::uint32_t stand_in_share = 0;
};

/// Counters of packets between a rank and its servers: the device, and rank 0 in its place.
struct fpga_nic_counters {
  std::uint64_t contributions = 0;     ///< contributions
  std::uint64_t repeats = 0;           ///< contributions that were sent again
  std::uint64_t results = 0;           ///< results received
  std::uint64_t stand_in_results = 0;  ///< results of rank 0 in place of the device
  std::uint64_t supplied_results = 0;  ///< results sent to help other ranks that had lost them
  std::uint64_t queries = 0;           ///< queries for results
  std::uint64_t ignored_packets = 0;   ///< packets that belong to nothing under way
  std::uint64_t silences = 0;          ///< times that the device was given up
};

}  // namespace tutti
