// SPDX-License-Identifier: Apache-2.0
//
// Sets up a card, and shows its counters. Tests use a model of the card (docs/guide/proven.md).
#include "../model/place_text.hpp"
#include "../registers/device.hpp"
#include "../registers/xdma.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>

namespace {

struct options {
  xdma_registers::place card;
  std::optional<frame::place> enable;
  bool disable = false;
  std::optional<unsigned> end_job;
};

options read_options(int argc, char** argv) {
  options o;
  std::string ip;
  std::string mac = "02:74:75:74:74:69";
  std::uint16_t port = 7171;
  unsigned job = 0;
  CLI::App app{
      "Sets up a card with the device that sums in the network, and shows its jobs and counters. Without options it "
      "only shows them. It reaches the card's registers by AMD's XDMA. Tests use a model of the card."};
  app.option_defaults()->always_capture_default();
  app.add_option("--xdma", o.card.path, "The device file of the card's AXI-Lite master");
  app.add_option("--offset", o.card.offset, "Where the registers begin there, a multiple of 4096");
  auto* const ip_option = app.add_option("--ip", ip, "Gives the device this IPv4 address, and enables it");
  auto* const port_option = app.add_option("--port", port, "Its UDP port")->check(CLI::Range(1, 65535));
  auto* const mac_option = app.add_option("--mac", mac, "Its MAC address");
  port_option->needs(ip_option);
  mac_option->needs(ip_option);
  app.add_flag("--disable", o.disable, "From now on it takes no frame")->excludes(ip_option);
  auto* const end = app.add_option("--end-job", job, "Ends the job of this number in its table");
  try {
    app.parse(argc, argv);
    if (o.card.offset % xdma_registers::bytes != 0) {
      throw CLI::ValidationError("--offset", "must be a multiple of 4096, not " + std::to_string(o.card.offset));
    }
  } catch (CLI::ParseError const& e) {
    std::exit(app.exit(e));
  }
  if (ip_option->count() != 0) {
    o.enable = {.mac = frame::read_mac("--mac", mac), .ip = frame::read_ip("--ip", ip), .port = port};
  }
  if (end->count() != 0) {
    o.end_job = job;
  }
  return o;
}

template <registers R>
void show(R& r, device::build const& build) {
  auto const address = device::place_of(r);
  std::printf("%u lanes, %u slots (%u in rank order), %u workers; %s:%u, %s, %s\n", build.lanes, build.slots,
              build.slots_in_order, build.workers, frame::text_of_ip(address.ip).c_str(), address.port,
              frame::text_of_mac(address.mac).c_str(), device::is_enabled(r) ? "enabled" : "disabled");
  for (unsigned i = 0; i != build.jobs; ++i) {
    if (auto const j = device::job_at(r, i); j.exists) {
      std::printf("job %u: %08x, %u of %u members, %u slots%s\n", i, j.nonce, j.present, j.members, j.slots,
                  j.in_rank_order ? ", in rank order" : "");
    }
  }
  device::print(device::read_counters(r));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    options const o = read_options(argc, argv);
    xdma_registers r;
    r.open(o.card);
    auto const build = device::identify(r);
    if (o.end_job) {
      if (*o.end_job >= build.jobs) {
        throw std::runtime_error("--end-job " + std::to_string(*o.end_job) + ": the device's table has " +
                                 std::to_string(build.jobs) + " job(s), numbered from 0");
      }
      device::end_job(r, *o.end_job);
    }
    if (o.enable) {
      device::enable(r, *o.enable);
    } else if (o.disable) {
      device::disable(r);
    }
    show(r, build);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "control_nic: %s\n", e.what());
    return 1;
  }
  return 0;
}
