// SPDX-License-Identifier: Apache-2.0
//
// The Verilated device in an in-process network: packets to it travel in frames.
#include <hardware/fpga_nic/model/nic_model.hpp>
#include <hardware/fpga_nic/registers/device.hpp>
#include <hardware/fpga_nic/registers/model.hpp>
#include <in_network/fpga_nic/device_under_test.hpp>

#include <array>
#include <stdexcept>
#include <string>

namespace {

namespace nic = tutti::detail::fpga_nic;

class in_process_nic final : public nic::in_process_device {
 public:
  explicit in_process_nic(std::uint64_t seed) : model_(0.1, seed) {
    registers_.open({model_});
    device::enable(registers_, place_of(0));
  }

  void take(std::uint32_t source, std::span<std::byte const> packet, nic::in_process_medium&) override {
    std::array<std::byte, frame::max_size> bytes;
    std::size_t const size =
        frame::write({.source = place_of(source), .destination = place_of(0), .payload = packet}, bytes.data());
    model_.give(std::span(bytes).first(size));
  }
  void settle(nic::in_process_medium& net) override {
    model_.settle();
    for (auto& frames = model_.output(); !frames.empty(); frames.pop()) {
      frame::datagram d;
      if (!frame::read(frames.front().content(), d) || d.source != place_of(0) ||
          d.destination != place_of(d.destination.port - base)) {
        throw std::logic_error("the device has sent a frame of " + std::to_string(frames.front().size) +
                               " bytes that nothing has asked for");
      }
      net.answer(d.destination.port - base, d.payload);
    }
  }
  [[nodiscard]] nic::counters counts() override {
    return device::to_switch_counters(device::read_counters(registers_));
  }

 private:
  static constexpr std::uint32_t base = 7171;  ///< first port number

  /// Maps a port of the in-process network to addresses in frames.
  static frame::place place_of(std::uint32_t port) noexcept {
    return {.mac = {2, 0, 0, 0, 1, static_cast<std::uint8_t>(port)},
            .ip = 0x0a4d0001U + port,
            .port = static_cast<std::uint16_t>(base + port)};
  }

  nic_model model_;
  model_registers registers_;
};

}  // namespace

std::unique_ptr<nic::in_process_device> device_under_test(nic::in_process_options const& o) {
  return std::make_unique<in_process_nic>(o.packets.seed);
}
