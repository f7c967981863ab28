// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/in_process_network.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_switch.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// A device in software.
class in_process_switch final : public in_process_device {
 public:
  explicit in_process_switch(in_process_options const& settings, std::optional<std::uint32_t> device_above = {})
      : seal_(settings.packets.seal), switch_(settings.limits, settings.packets.seal, device_above) {}

  void take(std::uint32_t source, std::span<std::byte const> packet, in_process_medium& net) override {
    switch_.take(source, packet, false, steady_now(), [&](std::uint32_t destination, header const& h, auto payload) {
      std::array<std::byte, max_packet> bytes;
      net.answer(destination, std::span(bytes).first(seal_.write(h, payload, bytes.data())));
    });
  }
  void settle(in_process_medium&) override {}
  [[nodiscard]] counters counts() override { return switch_.counts(); }

 private:
  udp::seal seal_;
  rack_switch<std::uint32_t> switch_;
};

TUTTI_DECL in_process_network::in_process_network(unsigned ports, in_process_options const& options, std::size_t inbox)
    : in_process_medium(ports, options.packets, inbox, options.racks + 1), options_(options) {
  restart();
  for (unsigned i = 0; i < options.racks; ++i) {
    restart(rack(i));
  }
}

TUTTI_DECL void in_process_network::kill(address device_number) {
  monitor_lock const lock(monitor_);
  device_at(device_number).reset();
}

TUTTI_DECL void in_process_network::restart(address device_number) {
  monitor_lock const lock(monitor_);
  if (device_number != device) {
    device_at(device_number) = std::make_unique<in_process_switch>(options_, device);
  } else if (options_.device != nullptr) {
    device_at(device_number) = options_.device(options_);
  } else {
    device_at(device_number) = std::make_unique<in_process_switch>(options_);
  }
}

TUTTI_DECL counters in_process_network::counts(address device_number) {
  monitor_lock const lock(monitor_);
  auto* const found_device = static_cast<in_process_device*>(device_at(device_number).get());
  return found_device != nullptr ? found_device->counts() : counters{};
}

}  // namespace tutti::detail::fpga_nic
