// SPDX-License-Identifier: Apache-2.0
//
// How many clocks the device takes for a packet when they come without a gap.
#include "../model/nic_model.hpp"
#include "../registers/device.hpp"
#include "../registers/model.hpp"
#include <tutti/detail/fpga_nic/protocol.hpp>
#include <tutti/detail/fpga_nic/seal.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace nic = tutti::detail::fpga_nic;

constexpr frame::place own{.mac = {2, 0, 0, 0, 0, 1}, .ip = 0x0a000001, .port = 7171};
constexpr std::uint32_t nonce = 1;

void send(nic_model& to, unsigned worker, nic::header h, std::span<std::byte const> payload) {
  frame::place const from{.mac = {2, 0, 0, 0, 1, static_cast<std::uint8_t>(worker)},
                          .ip = 0x0a000100U + worker,
                          .port = static_cast<std::uint16_t>(8000 + worker)};
  h.job = nonce;
  h.length = static_cast<std::uint16_t>(payload.size());
  h.worker = static_cast<std::uint8_t>(worker);
  std::array<std::byte, nic::most_packet> packet;
  std::array<std::byte, frame::most> bytes;
  std::size_t const length = nic::seal().write(h, payload, packet.data());
  to.give(std::span(bytes).first(
      frame::write({.from = from, .to = own, .payload = std::span(packet).first(length)}, bytes.data())));
}

std::size_t frames_sent(nic_model& model) {
  std::size_t n = 0;
  for (; !model.sent().empty(); model.sent().pop()) {
    ++n;
  }
  return n;
}

/// Clocks for a contribution of this many bytes, its result included.
double clocks_per_packet(unsigned workers, bool in_rank_order, std::size_t payload_bytes) {
  constexpr std::uint32_t sequences = 256;
  nic_model model;
  model_registers registers;
  registers.open({model});
  device::enable(registers, own);
  std::uint16_t const order = in_rank_order ? nic::flag::in_rank_order : std::uint16_t{0};
  std::array<std::byte, nic::terms::bytes> terms;
  nic::write(nic::terms{60'000, sequences}, terms.data());
  for (unsigned w = 0; w != workers; ++w) {
    send(model, w, {.kind = nic::kind::join, .workers = static_cast<std::uint8_t>(workers), .flags = order}, terms);
  }
  model.settle();
  std::size_t const joined = frames_sent(model);

  std::vector<std::byte> const payload(payload_bytes, std::byte{0x3f});
  for (std::uint32_t q = 0; q != sequences; ++q) {
    for (unsigned w = 0; w != workers; ++w) {
      send(model, w,
           {.kind = nic::kind::contribute,
            .operation = tutti::network_operation::sum_float32,
            .sequence = q,
            .slot = static_cast<std::uint16_t>(q),
            .workers = static_cast<std::uint8_t>(workers),
            .flags = order},
           payload);
    }
  }
  std::uint64_t const before = model.clocks();
  model.settle(100'000'000);
  std::uint64_t const clocks = model.clocks() - before;
  std::size_t const results = frames_sent(model);
  if (joined != workers || results != std::size_t{sequences} * workers) {
    throw std::runtime_error("of " + std::to_string(workers) + " workers " + std::to_string(joined) +
                             " have joined, and " + std::to_string(results) + " results came");
  }
  return static_cast<double>(clocks) / static_cast<double>(results);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Clocks that the device in hardware takes for a packet, simulated by Verilator: contributions come without a "
      "gap, "
      "results leave at once. A packet of 1024 bytes of elements has 17 beats of 64 bytes each way."};
  std::vector<unsigned> workers{2, 4, 8, 16, 32};
  std::size_t payload = nic::most_payload;
  app.option_defaults()->always_capture_default();
  app.add_option("--workers", workers, "How many contribute")->check(CLI::Range(1U, 128U));
  app.add_option("--bytes", payload, "Of elements in a packet")->check(CLI::Range(4U, 1024U));
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    return app.exit(e);
  }
  try {
    std::puts("workers order clocks_per_packet");
    for (unsigned const w : workers) {
      std::printf("%u arrival %.2f\n", w, clocks_per_packet(w, false, payload / 4 * 4));
      if (w <= nic::most_workers_in_order) {
        std::printf("%u rank %.2f\n", w, clocks_per_packet(w, true, payload / 4 * 4));
      }
    }
  } catch (std::exception const& e) {
    std::fprintf(stderr, "cycles_nic: %s\n", e.what());
    return 1;
  }
  return 0;
}
