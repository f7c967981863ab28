// SPDX-License-Identifier: Apache-2.0
//
// The Verilated device behind a TAP interface, as a program.
#include "../../../tools/common/signals.hpp"
#include "../model/nic_model.hpp"
#include "../model/place_text.hpp"
#include "../registers/device.hpp"
#include "../registers/model.hpp"
#include "arp.hpp"
#include "options.hpp"
#include "tap_interface.hpp"

#include <array>
#include <cstdio>
#include <exception>
#include <poll.h>

namespace {

class simulated_nic {
 public:
  explicit simulated_nic(options const& o) : device_(o.device), interface_(o.name, o.host, o.prefix, o.queue) {
    registers_.open({model_});
    auto const build = device::identify(registers_);
    device::enable(registers_, device_);
    std::printf("tap_nic: %s is a device with %u slots (%u in rank order) at %s:%u\n", o.name.c_str(), build.slots,
                build.slots_in_order, frame::text_of_ip(device_.ip).c_str(), device_.port);
    std::fflush(stdout);
  }

  void run() {
    for (;;) {
      bool const has_input = take();
      for (int i = 0; i < clocks_between_looks && !model_.idle(); ++i) {
        model_.step();
      }
      give();
      std::array<pollfd, 2> descriptors{{{interface_.descriptor(), POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}}};
      if (::poll(descriptors.data(), descriptors.size(), has_input || !model_.idle() ? 0 : -1) > 0 &&
          descriptors[1].revents != 0 && !signals_.go_on([&] { report(); })) {
        return report();
      }
    }
  }

 private:
  static constexpr int clocks_between_looks = 256;
  static constexpr int frames_between_looks = 16;

  /// Takes some frames from the interface. True if there were any.
  bool take() {
    std::array<std::byte, frame_queue::room> room;
    for (int i = 0; i < frames_between_looks; ++i) {
      auto const f = interface_.take(room);
      if (f.empty()) {
        return i != 0;
      }
      if (arp::reply r; arp::answer(f, device_, r)) {
        interface_.give(r);
      } else {
        model_.give(f);
      }
    }
    return true;
  }
  void give() {
    for (auto& frames = model_.output(); !frames.empty(); frames.pop()) {
      not_taken_ += interface_.give(frames.front().content()) ? 0U : 1U;
    }
  }

  void report() {
    std::printf("tap_nic: %llu clocks\n", static_cast<unsigned long long>(model_.clocks()));
    device::print(device::read_counters(registers_));
    std::printf("  %-14s %llu\n", "not taken", static_cast<unsigned long long>(not_taken_));
    std::fflush(stdout);
  }

  frame::place device_;
  signals signals_;
  tap_interface interface_;
  nic_model model_;
  model_registers registers_;
  std::uint64_t not_taken_ = 0;  ///< frames that the system refused
};

}  // namespace

int main(int argc, char** argv) {
  try {
    simulated_nic(read_options(argc, argv)).run();
  } catch (std::exception const& e) {
    std::fprintf(stderr, "tap_nic: %s\n", e.what());
    return 1;
  }
  return 0;
}
