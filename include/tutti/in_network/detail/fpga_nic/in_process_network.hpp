// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/in_network/detail/fpga_nic/counters.hpp>
#include <tutti/in_network/detail/fpga_nic/switch_limits.hpp>
#include <tutti/in_network/detail/udp/in_process_medium.hpp>

#include <cstddef>
#include <memory>

namespace tutti::inline v0_1_0::detail::fpga_nic {

struct in_process_options;

/// A device at one address of an in-process network, which counts what it sees.
class in_process_device : public medium_device {
 public:
  /// What it has seen.
  [[nodiscard]] virtual counters counted() = 0;
};

/// Makes the device of a network, when that begins and after each restart.
using in_process_device_maker = std::unique_ptr<in_process_device> (*)(in_process_options const&);

/// The packets of an in-process network, and its devices.
struct in_process_options {
  medium_options packets{};
  switch_limits limits{};
  in_process_device_maker device = nullptr;  ///< none: the device is a summing_switch
  unsigned racks = 0;                        ///< that many rack_switches, below the device
};

/// A network within a process, and a device in it, with one below it for each rack.
class in_process_network : public in_process_medium {
 public:
  /// `ports`: their addresses are 1 to that. `inbox`: packets that wait at a port; what comes then is lost.
  TUTTI_DECL explicit in_process_network(unsigned ports, in_process_options const& options = {},
                                         std::size_t inbox = 1024);

  /// The switch of a rack.
  [[nodiscard]] address rack(unsigned number) const noexcept { return device_address(number + 1); }

  /// A device dies: it answers nothing, and forgets all.
  TUTTI_DECL void kill(address which = device);
  /// It begins anew.
  TUTTI_DECL void restart(address which = device);

  /// What a device has seen since it began; of a dead one nothing.
  [[nodiscard]] TUTTI_DECL counters counted(address which = device);

 private:
  in_process_options options_;
};

}  // namespace tutti::detail::fpga_nic

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/in_network/detail/fpga_nic/in_process_network.ipp>
#endif
