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

/// A device at one address of an in-process network, with counters.
class in_process_device : public medium_device {
 public:
  [[nodiscard]] virtual counters counts() = 0;
};

/// Makes the device of a network, at the start and at each restart.
using in_process_device_maker = std::unique_ptr<in_process_device> (*)(in_process_options const&);

/// Settings of an in-process network and its devices.
struct in_process_options {
  medium_options packets{};
  switch_limits limits{};
  in_process_device_maker device = nullptr;  ///< null: the device is a summing_switch
  unsigned racks = 0;                        ///< number of rack_switches below the device
};

/// A network within a process, with a device, and one below it for each rack.
class in_process_network : public in_process_medium {
 public:
  /// `ports`: number of ports, at addresses 1 to `ports`. `inbox`: packets that wait at a port; more are lost.
  TUTTI_DECL explicit in_process_network(unsigned ports, in_process_options const& options = {},
                                         std::size_t inbox = 1024);

  [[nodiscard]] address rack(unsigned number) const noexcept { return device_address(number + 1); }

  /// Kills a device: it answers nothing, and loses its state.
  TUTTI_DECL void kill(address device_number = device);
  /// Restarts a device, without its earlier state.
  TUTTI_DECL void restart(address device_number = device);

  /// Counters of a device since its start; zero for a dead one.
  [[nodiscard]] TUTTI_DECL counters counts(address device_number = device);

 private:
  in_process_options options_;
};

}  // namespace tutti::detail::fpga_nic

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/in_network/detail/fpga_nic/in_process_network.ipp>
#endif
