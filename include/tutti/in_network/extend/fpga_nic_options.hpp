// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/in_network/extend/udp_options.hpp>

#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0 {

/// UDP as the network in which a device is: a soft switch, or hardware.
struct device_over_udp {
  /// The places of devices, and how this rank reaches them.
  struct options {
    /// The place of the device, "host:port": that of rank 0 counts. Empty: TUTTI_FPGA_NIC, or else there is none.
    std::string device{};
    /// The place of the device of this rank's rack, where each rack has its own; for this rank alone. Empty:
    /// TUTTI_FPGA_NIC_RACK, or else `device`.
    std::string rack{};
    udp_options socket{};  ///< the socket of this rank
    /// A file with 32 hexadecimal digits, the same on all ranks and at the device, which packets are tagged with.
    /// Empty: TUTTI_FPGA_NIC_KEY, or else packets have no tag.
    std::string key_file{};
  };
};

/// The settings of a rank in a world with a device in its network. All ranks give the same; the device's address is
/// rank 0's.
template <class Host, class Network>
struct fpga_nic_options {
  typename options_of<Host>::type host{};  ///< settings of the transport that it stands on
  typename Network::options network{};     ///< settings of the network of the device
  /// Packets of 1 KiB that a lane has under way, a power of two. A device that grants fewer is not used.
  std::uint32_t slot_count = 256;
  /// The time that a device that was asked may be silent before rank 0 serves in its place.
  duration silence = std::chrono::milliseconds(200);
  /// The time that the device remembers a rank that does nothing.
  duration lease = std::chrono::seconds(60);
  /// The packets, of each 256, that rank 0 serves though there is a device.
  std::uint32_t stand_in_share = 0;
};

/// The numbers of packets that a rank has sent to its servers, the device and rank 0 in its place, and got from them.
struct fpga_nic_counters {
  std::uint64_t sent = 0;         ///< contributions
  std::uint64_t repeated = 0;     ///< contributions that were sent again
  std::uint64_t results = 0;      ///< results that came
  std::uint64_t by_stand_in = 0;  ///< results that did not come from the device
  std::uint64_t supplied = 0;     ///< results that other ranks had lost
  std::uint64_t queries = 0;      ///< questions for results
  std::uint64_t ignored = 0;      ///< packets that belong to nothing that is under way
  std::uint64_t silences = 0;     ///< the number of times that the device was given up
};

}  // namespace tutti
