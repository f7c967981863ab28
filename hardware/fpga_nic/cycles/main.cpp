// SPDX-License-Identifier: Apache-2.0
//
// Measures the clocks that the device takes for a packet when packets come without a gap.
#include "../model/nic_model.hpp"
#include "../registers/device.hpp"
#include "../registers/model.hpp"
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace nic = tutti::detail::fpga_nic;

constexpr frame::place device_address{.mac = {2, 0, 0, 0, 0, 1}, .ip = 0x0a000001, .port = 7171};
constexpr std::uint32_t nonce = 1;

void send(nic_model& model, unsigned worker, nic::header h, std::span<std::byte const> payload) {
  frame::place const source{.mac = {2, 0, 0, 0, 1, static_cast<std::uint8_t>(worker)},
                            .ip = 0x0a000100U + worker,
                            .port = static_cast<std::uint16_t>(8000 + worker)};
  h.job = nonce;
  h.length = static_cast<std::uint16_t>(payload.size());
  h.worker = static_cast<std::uint8_t>(worker);
  std::array<std::byte, nic::max_packet> packet;
  std::array<std::byte, frame::max_size> bytes;
  std::size_t const length = nic::seal().write(h, payload, packet.data());
  model.give(std::span(bytes).first(frame::write(
      {.source = source, .destination = device_address, .payload = std::span(packet).first(length)}, bytes.data())));
}

std::size_t frames_sent(nic_model& model) {
  std::size_t n = 0;
  for (; !model.output().empty(); model.output().pop()) {
    ++n;
  }
  return n;
}

constexpr std::uint32_t sequences = 256;

/// Stores a block of weights for each update.
void store_weights(nic_model& model, unsigned workers) {
  std::vector<std::byte> const block(nic::block_bytes, std::byte{0x3f});
  for (std::uint32_t key = 0; key != sequences; ++key) {
    send(model, 0,
         {.kind = nic::kind::supply,
          .operation = tutti::network_operation::update,
          .sequence = key,
          .slot = static_cast<std::uint16_t>(key),
          .workers = static_cast<std::uint8_t>(workers),
          .flags = nic::flag::weights},
         block);
  }
  model.settle(100'000'000);
  if (std::size_t const answers = frames_sent(model); answers != sequences) {
    throw std::runtime_error("of " + std::to_string(sequences) + " blocks of weights " + std::to_string(answers) +
                             " are stored");
  }
}

/// Clocks for a contribution of this many bytes, its result included.
double clocks_per_packet(unsigned workers, bool in_rank_order, tutti::network_operation operation,
                         std::size_t payload_bytes) {
  nic_model model;
  model_registers registers;
  registers.open({model});
  device::enable(registers, device_address);
  std::uint16_t const order = in_rank_order ? nic::flag::in_rank_order : std::uint16_t{0};
  std::array<std::byte, nic::terms::bytes> terms;
  nic::write(nic::terms{60'000, sequences}, terms.data());
  for (unsigned w = 0; w != workers; ++w) {
    send(model, w, {.kind = nic::kind::join, .workers = static_cast<std::uint8_t>(workers), .flags = order}, terms);
  }
  model.settle();
  std::size_t const grants = frames_sent(model);

  bool const updates = operation == tutti::network_operation::update;
  if (updates) {
    store_weights(model, workers);
    payload_bytes = nic::block_bytes + nic::update_terms::bytes;
  }
  std::vector<std::byte> payload(payload_bytes, std::byte{0x3f});
  for (std::uint32_t q = 0; q != sequences; ++q) {
    if (updates) {
      nic::write(nic::update_terms{q, 0, std::bit_cast<std::uint32_t>(0.1F), std::bit_cast<std::uint32_t>(0.9F)},
                 payload.data() + nic::block_bytes);
    }
    for (unsigned w = 0; w != workers; ++w) {
      send(model, w,
           {.kind = nic::kind::contribute,
            .operation = operation,
            .sequence = q,
            .slot = static_cast<std::uint16_t>(q),
            .workers = static_cast<std::uint8_t>(workers),
            .flags = order},
           payload);
    }
  }
  std::uint64_t const start = model.clocks();
  model.settle(100'000'000);
  std::uint64_t const clocks = model.clocks() - start;
  std::size_t const results = frames_sent(model);
  auto const counters = device::to_switch_counters(device::read_counters(registers));
  if (grants != workers || results != std::size_t{sequences} * workers || counters.completed_results != sequences ||
      counters.updates != (updates ? sequences : 0)) {
    throw std::runtime_error("of " + std::to_string(workers) + " workers " + std::to_string(grants) +
                             " have joined, and " + std::to_string(results) + " frames came, of " +
                             std::to_string(counters.completed_results) + " results, " +
                             std::to_string(counters.updates) + " of them updates");
  }
  return static_cast<double>(clocks) / static_cast<double>(results);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Clocks that the device in hardware takes for a packet, simulated by Verilator: contributions come without a\n"
      "gap, results leave at once. A packet of 1024 bytes of elements has 17 beats of 64 bytes each way, one with the\n"
      "terms of an update has 18."};
  std::vector<unsigned> workers{2, 4, 8, 16, 32};
  std::size_t payload = nic::max_payload;
  app.option_defaults()->always_capture_default();
  app.add_option("--workers", workers, "How many contribute")->check(CLI::Range(1U, 128U));
  app.add_option("--bytes", payload, "Of elements in a packet")->check(CLI::Range(4U, 1024U));
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    return app.exit(e);
  }
  try {
    std::puts("operation workers order clocks_per_packet");
    auto const print = [&](char const* name, tutti::network_operation operation, unsigned w) {
      std::printf("%s %u arrival %.2f\n", name, w, clocks_per_packet(w, false, operation, payload / 4 * 4));
      if (w <= nic::max_workers_in_order) {
        std::printf("%s %u rank %.2f\n", name, w, clocks_per_packet(w, true, operation, payload / 4 * 4));
      }
    };
    for (unsigned const w : workers) {
      print("sum", tutti::network_operation::sum_float32, w);
    }
    for (unsigned const w : workers) {
      print("update", tutti::network_operation::update, w);
    }
  } catch (std::exception const& e) {
    std::fprintf(stderr, "cycles_nic: %s\n", e.what());
    return 1;
  }
  return 0;
}
