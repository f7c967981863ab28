// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "../common/real_range.hpp"
#include <tutti/detail/net/nonce.hpp>
#include <tutti/error.hpp>
#include <tutti/in_network/detail/udp/key_file.hpp>
#include <tutti/in_network/detail/udp/udp_socket.hpp>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

namespace nic = tutti::detail::fpga_nic;
namespace net = tutti::detail::net;

net::address address_of(std::string const& text) {
  if (std::uint16_t port = 0; net::parse_port(text, port)) {
    return nic::any_address(port);
  }
  tutti::host_port place;
  if (!net::parse(text, place)) {
    throw std::runtime_error("--listen " + text + " is not an address: give a port, host:port or [IPv6]:port");
  }
  return net::resolve(place.host, place.port).front();
}

}  // namespace

options read_options(int argc, char** argv) {
  options o;
  std::string listen = "7171";
  std::string up;
  std::string key;
  double delay_us = 0;
  std::uint64_t memory = o.limits.memory;
  unsigned lease = 60;
  unsigned report = 0;
  bool no_offload = false;
  CLI::App app{
      "A switch that adds, as a program: ranks send it what they contribute by UDP, and get the sums.\n"
      "It ends on SIGINT and SIGTERM, and prints its counters on SIGUSR1 and at the end."};
  app.option_defaults()->always_capture_default();
  app.add_option("--listen", listen, "Port, host:port or [IPv6]:port; port 0: any that is free");
  app.add_option("--up", up,
                 "host:port of the switch above: this one is a rack's, and takes part there for all of its ranks");
  app.add_option("--jobs", o.limits.jobs, "Jobs at the same time")->check(CLI::Range(1U, 1000U));
  app.add_option("--slots", o.limits.slot_count, "Slots of a job, at most")->check(CLI::Range(1, 65535));
  app.add_option("--memory", memory, "Bytes for the slots of all jobs, e.g. 256M")->transform(CLI::AsSizeValue(false));
  app.add_option("--lease", lease, "Seconds after which a silent rank is forgotten, at most")
      ->check(CLI::Range(1U, 86400U));
  app.add_option("--key", key, "File with 32 hexadecimal digits: packets need a tag that is made with it");
  app.add_flag("--no-offload", no_offload, "Send and receive packet by packet, without GSO and GRO");
  app.add_option("--loss", o.loss, "Share of packets to lose, each way: an emulated network")
      ->check(real_range(0.0, 1.0));
  app.add_option("--delay", delay_us, "Microseconds by which answers are late: an emulated network")
      ->check(real_range(0.0, 1e7));
  app.add_option("--rate", o.rate, "Packets a second that are served, at most: an emulated device; 0: as many as come")
      ->check(real_range(0.0, 1e9));
  app.add_option("--seed", o.seed, "Of the packets that are lost");
  app.add_option("--report", report, "Seconds between counters; 0: none in between");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    std::exit(app.exit(e));
  }
  o.address = address_of(listen);
  if (!up.empty()) {
    tutti::host_port place;
    if (!net::parse(up, place)) {
      throw std::runtime_error("--up " + up + " is not an address: give host:port or [IPv6]:port");
    }
    o.uplink = net::resolve(place.host, place.port).front();
  }
  if (!key.empty()) {
    try {
      o.seal = nic::seal(nic::read_key(key));
    } catch (tutti::error const& e) {
      throw std::runtime_error(std::string("--key: ") + e.what());
    }
  }
  o.limits.memory = static_cast<std::size_t>(memory);
  o.limits.lease = std::chrono::seconds(lease);
  nic::write_integer(o.limits.guard.emplace().data(), net::draw_number());
  nic::write_integer(o.limits.guard->data() + 8, net::draw_number());
  o.delay = std::chrono::nanoseconds(static_cast<std::int64_t>(delay_us * 1e3));
  o.offload = !no_offload;
  o.report = std::chrono::seconds(report);
  return o;
}
