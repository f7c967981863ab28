// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/monitor.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_switch.hpp>
#include <tutti/in_network/detail/fpga_nic/summing_switch.hpp>
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

namespace tutti::inline v0_1_0::detail::fpga_nic {

class in_process_network;
struct in_process_options;

/// What stands at one address of an in-process network: packets in, packets out. Calls come from any thread, one at a
/// time.
class in_process_device {
 public:
  in_process_device() = default;
  in_process_device(in_process_device const&) = delete;
  in_process_device& operator=(in_process_device const&) = delete;
  virtual ~in_process_device() = default;

  /// Takes a packet as it came. Answers go to `net.answer`, now or in `settle`.
  virtual void take(std::uint32_t from, std::span<std::byte const> packet, in_process_network& net) = 0;
  /// Nothing more comes for now: what is under way in the device is finished.
  virtual void settle(in_process_network& net) = 0;
  /// What it has seen.
  [[nodiscard]] virtual counters counted() = 0;
};

/// Makes the device of a network, when that begins and after each restart.
using in_process_device_maker = std::unique_ptr<in_process_device> (*)(in_process_options const&);

/// How an in-process network treats packets. Shares are of one packet, from 0 to 1.
struct in_process_options {
  double loss = 0;
  double duplication = 0;
  double reordering = 0;  ///< of packets that change places with the one before
  std::uint64_t seed = 1;
  switch_limits limits{};
  fpga_nic::seal seal{};
  in_process_device_maker device = nullptr;  ///< none: the device is a summing_switch
  unsigned racks = 0;                        ///< that many rack_switches, below the device
};

/// A network within a process, and a device in it: packets to the device are handled in the thread that sends them, at
/// real time. Loss, duplication and reordering are drawn from a seed. Any thread may use it; in_process_port.hpp has
/// what belongs to one.
class in_process_network {
 public:
  using address = std::uint32_t;

  static constexpr address device = 0;
  static constexpr address group = UINT32_MAX;  ///< all ports but the sender's

  /// The switch of a rack.
  [[nodiscard]] address rack(unsigned number) const noexcept { return static_cast<address>(boxes_.size()) + number; }

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
  TUTTI_DECL explicit in_process_network(unsigned ports, in_process_options const& options = {},
                                         std::size_t inbox = 1024);
  in_process_network(in_process_network const&) = delete;
  in_process_network& operator=(in_process_network const&) = delete;

  /// A device dies: it answers nothing, and forgets all.
  TUTTI_DECL void kill(address which = device);
  /// It begins anew.
  TUTTI_DECL void restart(address which = device);

  /// From now on what is sent to the group goes nowhere.
  TUTTI_DECL void close_group();

  /// What a device has seen since it began; of a dead one nothing.
  [[nodiscard]] TUTTI_DECL counters counted(address which = device);
  /// Packets that were lost here.
  [[nodiscard]] TUTTI_DECL std::uint64_t lost();

  [[nodiscard]] fpga_nic::seal const& seal() const noexcept { return options_.seal; }
  [[nodiscard]] std::size_t inbox() const noexcept { return inbox_; }

  /// Carries what a port sends; `all` is empty afterwards.
  TUTTI_DECL void carry(address from, datagrams& all);
  /// Carries what a device sends. For that device, while it is called.
  TUTTI_DECL void answer(address to, std::span<std::byte const> packet);
  /// Takes what has come to a port, by exchanging it for `empty`, which has the same room.
  TUTTI_DECL void collect(address to, datagrams& empty);
  /// Readable when something has come to a port.
  [[nodiscard]] int descriptor(address of) const noexcept { return boxes_[of].bell.get(); }

 private:
  struct box {
    datagrams waiting;
    tutti::detail::descriptor bell;
  };

  [[nodiscard]] bool happens(double share) noexcept { return static_cast<double>(random_()) < share * 4294967296.0; }
  [[nodiscard]] bool is_device(address at) const noexcept { return at == device || at >= boxes_.size(); }
  [[nodiscard]] std::unique_ptr<in_process_device>& device_at(address at) noexcept {
    return devices_[at == device ? 0 : at - boxes_.size() + 1];
  }
  TUTTI_DECL void arrive(address from, address to, std::span<std::byte const> packet);
  TUTTI_DECL void pass_on();
  TUTTI_DECL void put(address from, address to, std::span<std::byte const> packet);

  in_process_options options_;
  std::size_t inbox_;
  monitor monitor_;
  std::mt19937 random_;
  std::vector<box> boxes_;
  std::vector<std::unique_ptr<in_process_device>> devices_;  ///< the one at address 0, and those of racks
  address acting_ = device;                                  ///< the device that is called
  struct crossing {
    address from;
    datagram what;
  };
  std::deque<crossing> between_devices_;
  std::uint64_t lost_ = 0;
  bool has_group_ = true;
};

}  // namespace tutti::detail::fpga_nic

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/in_network/detail/fpga_nic/in_process_network.ipp>
#endif
