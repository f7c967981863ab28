// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/monitor.hpp>
#include <tutti/in_network/detail/udp/port.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::udp {

class in_process_medium;

/// A device at one address of an in-process medium. Calls come from any thread, one at a time.
class medium_device {
 public:
  medium_device() = default;
  medium_device(medium_device const&) = delete;
  medium_device& operator=(medium_device const&) = delete;
  virtual ~medium_device() = default;

  /// Handles a packet. Answers go to `net.answer`, now or in `settle`.
  virtual void take(std::uint32_t source, std::span<std::byte const> packet, in_process_medium& net) = 0;
  /// Completes the work of the device: no packet follows for now.
  virtual void settle(in_process_medium& net) = 0;
};

/// Faults of an in-process medium; shares of packets are from 0 to 1.
struct medium_options {
  double loss = 0;
  double duplication = 0;
  double reordering = 0;  ///< share of packets that swap places with the previous one
  std::uint64_t seed = 1;
  udp::seal seal{};
};

/// A network within a process, with devices at some addresses. The thread that sends a packet runs the device, in
/// real time; packets to an address without a device are lost. Loss, duplication and reordering are drawn from a
/// seed. Thread-safe; in_process_port.hpp has the state of one thread.
class in_process_medium {
 public:
  using address = std::uint32_t;

  static constexpr address device = 0;
  static constexpr address group = UINT32_MAX;  ///< all ports but the sender's

  struct datagram {
    address at = 0;  ///< source or destination
    std::uint16_t size = 0;
    std::array<std::byte, max_packet> bytes;

    [[nodiscard]] std::span<std::byte const> content() const noexcept { return std::span(bytes).first(size); }
  };

  /// A queue of datagrams in preallocated storage; the first `count` are valid.
  struct datagrams {
    std::vector<datagram> storage;
    std::size_t count = 0;

    /// The next datagram to fill, or null if the storage is full.
    [[nodiscard]] datagram* next() noexcept { return count < storage.size() ? &storage[count++] : nullptr; }
  };

  /// `ports`: number of ports, at addresses 1 to `ports`. `inbox`: packets that wait at a port; more are lost.
  TUTTI_DECL explicit in_process_medium(unsigned ports, medium_options const& options = {}, std::size_t inbox = 1024,
                                        unsigned devices = 1);
  in_process_medium(in_process_medium const&) = delete;
  in_process_medium& operator=(in_process_medium const&) = delete;
  ~in_process_medium() = default;

  /// Drops packets to the group from now on.
  TUTTI_DECL void close_group();

  /// Number of packets lost here.
  [[nodiscard]] TUTTI_DECL std::uint64_t lost_count();

  [[nodiscard]] udp::seal const& seal() const noexcept { return options_.seal; }
  [[nodiscard]] std::size_t inbox() const noexcept { return inbox_; }

  /// Transmits the packets of a port, and empties `all`.
  TUTTI_DECL void carry(address source, datagrams& batch);
  /// Transmits an answer of the device that is being called.
  TUTTI_DECL void answer(address destination, std::span<std::byte const> packet);
  /// Takes the packets of a port, by exchange for `empty`, which has equal storage.
  TUTTI_DECL void collect(address destination, datagrams& empty);
  /// A descriptor that is readable when packets wait at a port.
  [[nodiscard]] int descriptor(address port) const noexcept { return port_inboxes_[port].event.get(); }

 protected:
  /// The address of a device: the one at `device`, or a further one.
  [[nodiscard]] address device_address(unsigned number) const noexcept {
    return number == 0 ? device : static_cast<address>(port_inboxes_.size()) + number - 1;
  }
  /// The place of a device. @pre this thread holds the monitor
  [[nodiscard]] std::unique_ptr<medium_device>& device_at(address at) noexcept {
    return devices_[at == device ? 0 : at - port_inboxes_.size() + 1];
  }

  monitor monitor_;

 private:
  struct port_inbox {
    datagrams packets;
    tutti::detail::descriptor event;
  };

  [[nodiscard]] bool draw(double share) noexcept { return static_cast<double>(random_()) < share * 4294967296.0; }
  [[nodiscard]] bool is_device(address at) const noexcept { return at == device || at >= port_inboxes_.size(); }
  TUTTI_DECL void route(address source, address destination, std::span<std::byte const> packet);
  TUTTI_DECL void route_between_devices();
  TUTTI_DECL void deliver(address source, address destination, std::span<std::byte const> packet);

  medium_options options_;
  std::size_t inbox_;
  std::mt19937 random_;
  std::vector<port_inbox> port_inboxes_;
  std::vector<std::unique_ptr<medium_device>> devices_;  ///< the device at address 0, and further ones
  address active_device_ = device;                       ///< the device that is being called
  struct device_packet {
    address source;
    datagram packet;
  };
  std::deque<device_packet> between_devices_;
  std::uint64_t lost_count_ = 0;
  bool has_group_ = true;
};

}  // namespace tutti::detail::udp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/in_network/detail/udp/in_process_medium.ipp>
#endif
