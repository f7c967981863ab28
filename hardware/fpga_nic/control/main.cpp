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
  xdma_registers::place where;
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
  app.add_option("--xdma", o.where.path, "The device file of the card's AXI-Lite master");
  app.add_option("--offset", o.where.offset, "Where the registers begin there, a multiple of 4096");
  auto* const ip_option = app.add_option("--ip", ip, "Gives the device this IPv4 address, and enables it");
  auto* const port_option = app.add_option("--port", port, "Its UDP port")->check(CLI::Range(1, 65535));
  auto* const mac_option = app.add_option("--mac", mac, "Its MAC address");
  port_option->needs(ip_option);
  mac_option->needs(ip_option);
  app.add_flag("--disable", o.disable, "From now on it takes no frame")->excludes(ip_option);
  auto* const end = app.add_option("--end-job", job, "Ends the job of this number in its table");
  try {
    app.parse(argc, argv);
    if (o.where.offset % xdma_registers::bytes != 0) {
      throw CLI::ValidationError("--offset", "must be a multiple of 4096, not " + std::to_string(o.where.offset));
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
void show(R& r, device::build const& built) {
  auto const at = device::place_of(r);
  std::printf("%u lanes, %u slots (%u in rank order), %u workers; %s:%u, %s, %s\n", built.lanes, built.slots,
              built.slots_in_order, built.workers, frame::text_of_ip(at.ip).c_str(), at.port,
              frame::text_of_mac(at.mac).c_str(), device::is_enabled(r) ? "enabled" : "disabled");
  for (unsigned i = 0; i != built.jobs; ++i) {
    if (auto const j = device::job_at(r, i); j.exists) {
      std::printf("job %u: %08x, %u of %u members, %u slots%s\n", i, j.nonce, j.present, j.members, j.slots,
                  j.in_rank_order ? ", in rank order" : "");
    }
  }
  device::print(device::counted(r));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    options const o = read_options(argc, argv);
    xdma_registers r;
    r.open(o.where);
    auto const built = device::identify(r);
    if (o.end_job) {
      if (*o.end_job >= built.jobs) {
        throw std::runtime_error("--end-job " + std::to_string(*o.end_job) + ": the device's table has " +
                                 std::to_string(built.jobs) + " job(s), numbered from 0");
      }
      device::end_job(r, *o.end_job);
    }
    if (o.enable) {
      device::enable(r, *o.enable);
    } else if (o.disable) {
      device::disable(r);
    }
    show(r, built);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "control_nic: %s\n", e.what());
    return 1;
  }
  return 0;
}
