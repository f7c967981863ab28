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

/// A device at one address of an in-process medium: packets in, packets out. Calls come from any thread, one at a time.
class medium_device {
 public:
  medium_device() = default;
  medium_device(medium_device const&) = delete;
  medium_device& operator=(medium_device const&) = delete;
  virtual ~medium_device() = default;

  /// Takes a packet as it came. Answers go to `net.answer`, now or in `settle`.
  virtual void take(std::uint32_t from, std::span<std::byte const> packet, in_process_medium& net) = 0;
  /// Finishes what is under way in the device: nothing more comes for now.
  virtual void settle(in_process_medium& net) = 0;
};

/// The treatment of packets in an in-process medium. Shares are of one packet, from 0 to 1.
struct medium_options {
  double loss = 0;
  double duplication = 0;
  double reordering = 0;  ///< of packets that change places with the one before
  std::uint64_t seed = 1;
  udp::seal seal{};
};

/// The wires of a network within a process, with places for devices: packets to one are handled in the thread that
/// sends them, at real time; where there is none they are lost. Loss, duplication and reordering are drawn from a seed.
/// Any thread may use it; in_process_port.hpp has what belongs to one.
class in_process_medium {
 public:
  using address = std::uint32_t;

  static constexpr address device = 0;
  static constexpr address group = UINT32_MAX;  ///< all ports but the sender's

  /// A packet on its way.
  struct datagram {
    address at = 0;  ///< where it comes from, or goes to
    std::uint16_t size = 0;
    std::array<std::byte, most_packet> bytes;

    [[nodiscard]] std::span<std::byte const> content() const noexcept { return std::span(bytes).first(size); }
  };

  /// Datagrams in a row: room for some, of which the first `count` are there.
  struct datagrams {
    std::vector<datagram> room;
    std::size_t count = 0;

    /// The next one, to be filled, or none.
    [[nodiscard]] datagram* next() noexcept { return count < room.size() ? &room[count++] : nullptr; }
  };

  /// `ports`: their addresses are 1 to that. `inbox`: packets that wait at a port; what comes then is lost.
  TUTTI_DECL explicit in_process_medium(unsigned ports, medium_options const& options = {}, std::size_t inbox = 1024,
                                        unsigned devices = 1);
  in_process_medium(in_process_medium const&) = delete;
  in_process_medium& operator=(in_process_medium const&) = delete;
  ~in_process_medium() = default;

  /// Drops what is sent to the group from now on.
  TUTTI_DECL void close_group();

  /// Packets that were lost here.
  [[nodiscard]] TUTTI_DECL std::uint64_t lost();

  [[nodiscard]] udp::seal const& seal() const noexcept { return options_.seal; }
  [[nodiscard]] std::size_t inbox() const noexcept { return inbox_; }

  /// Carries what a port sends; `all` is empty afterwards.
  TUTTI_DECL void carry(address from, datagrams& all);
  /// Carries what a device sends. For that device, while it is called.
  TUTTI_DECL void answer(address to, std::span<std::byte const> packet);
  /// Takes what has come to a port, by exchanging it for `empty`, which has the same room.
  TUTTI_DECL void collect(address to, datagrams& empty);
  /// Readable when something has come to a port.
  [[nodiscard]] int descriptor(address of) const noexcept { return boxes_[of].bell.get(); }

 protected:
  /// The address of a device: the one at `device`, or a further one.
  [[nodiscard]] address device_address(unsigned number) const noexcept {
    return number == 0 ? device : static_cast<address>(boxes_.size()) + number - 1;
  }
  /// The place of a device. @pre this thread holds the monitor
  [[nodiscard]] std::unique_ptr<medium_device>& device_at(address at) noexcept {
    return devices_[at == device ? 0 : at - boxes_.size() + 1];
  }

  monitor monitor_;

 private:
  struct box {
    datagrams waiting;
    tutti::detail::descriptor bell;
  };

  [[nodiscard]] bool happens(double share) noexcept { return static_cast<double>(random_()) < share * 4294967296.0; }
  [[nodiscard]] bool is_device(address at) const noexcept { return at == device || at >= boxes_.size(); }
  TUTTI_DECL void arrive(address from, address to, std::span<std::byte const> packet);
  TUTTI_DECL void pass_on();
  TUTTI_DECL void put(address from, address to, std::span<std::byte const> packet);

  medium_options options_;
  std::size_t inbox_;
  std::mt19937 random_;
  std::vector<box> boxes_;
  std::vector<std::unique_ptr<medium_device>> devices_;  ///< the one at address 0, and further ones
  address acting_ = device;                              ///< the device that is called
  struct crossing {
    address from;
    datagram what;
  };
  std::deque<crossing> between_devices_;
  std::uint64_t lost_ = 0;
  bool has_group_ = true;
};

}  // namespace tutti::detail::udp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/in_network/detail/udp/in_process_medium.ipp>
#endif
