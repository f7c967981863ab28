// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "../model/place_text.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <stdexcept>

options read_options(int argc, char** argv) {
  options o;
  std::string host = "10.77.0.1/24";
  std::string ip = "10.77.0.2";
  std::string mac = frame::text_of_mac(o.device.mac);
  CLI::App app{
      "The device in hardware, simulated by Verilator, behind a network interface of this host (TAP): ranks here, or "
      "hosts that route here, send to it as to a card. Needs root.\n"
      "It ends on SIGINT and SIGTERM, and prints its counters on SIGUSR1 and at the end."};
  app.option_defaults()->always_capture_default();
  app.add_option("--name", o.name, "Of the interface, which is made and gone again");
  app.add_option("--host", host, "This host's address at the interface, and how many bits are the network's");
  app.add_option("--ip", ip, "The device's address");
  app.add_option("--port", o.device.port, "The device's UDP port")->check(CLI::Range(1, 65535));
  app.add_option("--mac", mac, "The device's MAC address");
  app.add_option("--queue", o.queue, "Frames that may wait for the device; what comes then is lost")
      ->check(CLI::Range(1U, 1'000'000U));
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    std::exit(app.exit(e));
  }
  auto const slash = host.find('/');
  if (slash == std::string::npos || !CLI::detail::lexical_cast(host.substr(slash + 1), o.prefix) || o.prefix > 30) {
    throw std::runtime_error("--host " + host + " is no address with a prefix of up to 30 bits, such as 10.77.0.1/24");
  }
  o.host = frame::read_ip("--host", host.substr(0, slash));
  o.device.ip = frame::read_ip("--ip", ip);
  o.device.mac = frame::read_mac("--mac", mac);
  std::uint32_t const mask = o.prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - o.prefix);
  if (o.device.ip == o.host || (o.device.ip & mask) != (o.host & mask)) {
    throw std::runtime_error("--ip " + ip + " is not another address in the network of --host " + host +
                             ", so packets to it would not reach the device");
  }
  return o;
}
