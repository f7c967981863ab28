// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../model/frame.hpp"
#include "registers.hpp"
#include <tutti/in_network/detail/fpga_nic/counters.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

/// Operations on a device's registers, which README.md lists.
namespace device {

namespace at {
inline constexpr std::uint32_t identification = 0x000;
inline constexpr std::uint32_t version = 0x004;
inline constexpr std::uint32_t sizes = 0x008;
inline constexpr std::uint32_t lanes = 0x00c;
inline constexpr std::uint32_t control = 0x010;
inline constexpr std::uint32_t mac_low = 0x014;
inline constexpr std::uint32_t mac_high = 0x018;
inline constexpr std::uint32_t ip = 0x01c;
inline constexpr std::uint32_t port = 0x020;
inline constexpr std::uint32_t end_job = 0x024;
inline constexpr std::uint32_t weights = 0x028;
inline constexpr std::uint32_t jobs = 0x100;
inline constexpr std::uint32_t counters = 0x200;
}  // namespace at

/// Parameters that the device was built with.
struct build {
  unsigned lanes = 0;
  unsigned slots = 0;
  unsigned slots_in_order = 0;  ///< for a job that adds in rank order
  unsigned workers = 0;
  unsigned jobs = 0;
  unsigned weights = 0;  ///< blocks, for a job

  friend bool operator==(build const&, build const&) = default;
};

/// @throws std::runtime_error if the device is another one, or of another version
template <registers R>
[[nodiscard]] build identify(R& r) {
  auto const expect = [&](char const* field, std::uint32_t address, std::uint32_t value) {
    if (std::uint32_t const actual = r.read(address); actual != value) {
      std::array<char, 128> text;
      std::snprintf(text.data(), text.size(), "the %s in the registers is %08x, not %08x: is this summing_nic?", field,
                    actual, value);
      throw std::runtime_error(text.data());
    }
  };
  expect("identification", at::identification, 0x74757474);  // "tutt"
  expect("version", at::version, 0x00010001);
  std::uint32_t const sizes = r.read(at::sizes);
  std::uint32_t const lanes = r.read(at::lanes);
  return {.lanes = lanes & 0xffU,
          .slots = sizes & 0xffffU,
          .slots_in_order = lanes >> 8 & 0xffffU,
          .workers = sizes >> 16 & 0xffU,
          .jobs = sizes >> 24,
          .weights = r.read(at::weights)};
}

/// Sets the device's address, and enables it.
template <registers R>
void enable(R& r, frame::place const& address) {
  std::byte const* const mac = std::as_bytes(std::span(address.mac)).data();
  r.write(at::control, 0);
  r.write(at::mac_high, frame::read_integer<std::uint16_t>(mac));
  r.write(at::mac_low, frame::read_integer<std::uint32_t>(mac + 2));
  r.write(at::ip, address.ip);
  r.write(at::port, address.port);
  r.write(at::control, 1);
}
/// Disables the device: it treats all frames as foreign.
template <registers R>
void disable(R& r) {
  r.write(at::control, 0);
}
template <registers R>
[[nodiscard]] bool is_enabled(R& r) {
  return (r.read(at::control) & 1U) != 0;
}
/// Reads the device's address.
template <registers R>
[[nodiscard]] frame::place place_of(R& r) {
  frame::place p;
  std::span<std::byte> const mac = std::as_writable_bytes(std::span(p.mac));
  frame::write_integer(mac.data(), static_cast<std::uint16_t>(r.read(at::mac_high)));
  frame::write_integer(mac.data() + 2, r.read(at::mac_low));
  p.ip = r.read(at::ip);
  p.port = static_cast<std::uint16_t>(r.read(at::port));
  return p;
}

/// A job in the device's table.
struct job {
  std::uint32_t nonce = 0;
  unsigned members = 0;
  unsigned present = 0;
  unsigned slots = 0;
  bool in_rank_order = false;
  bool exists = false;
};
template <registers R>
[[nodiscard]] job job_at(R& r, unsigned number) {
  std::uint32_t const base = at::jobs + 16 * number;
  std::uint32_t const state = r.read(base + 4);
  return {.nonce = r.read(base),
          .members = state & 0xffU,
          .present = static_cast<unsigned>(std::popcount(r.read(base + 12))),
          .slots = r.read(base + 8),
          .in_rank_order = (state >> 8 & 1U) != 0,
          .exists = state >> 31 != 0};
}
/// Ends a job, against its members if necessary. @throws std::runtime_error if the device does not react
template <registers R>
void end_job(R& r, unsigned number) {
  r.write(at::end_job, number);
  for (int i = 0; r.read(at::end_job) != 0; ++i) {
    if (i == 1'000'000) {
      throw std::runtime_error("the device has not ended job " + std::to_string(number));
    }
  }
}

/// The names of the counters, in their order.
inline constexpr std::array<std::string_view, 31> counter_names{
    "frames",     "bad",       "no room",  "foreign",    "bad header", "bad checksum", "packets",     "malformed",
    "tagged",     "joins",     "leaves",   "ends",       "queries",    "stored",       "completed",   "repeated",
    "duplicates", "busy",      "mismatch", "unknown",    "no slots",   "late",         "unsupported", "unanswered",
    "results",    "congested", "sent",     "no weights", "stores",     "pulls",        "updates"};
using counter_values = std::array<std::uint64_t, counter_names.size()>;

template <registers R>
[[nodiscard]] counter_values read_counters(R& r) {
  counter_values values;
  for (std::uint32_t k = 0; k != values.size(); ++k) {
    std::uint64_t const low = r.read(at::counters + 8 * k);  // the device latches the upper half for the next read
    values[k] = std::uint64_t{r.read(at::counters + 8 * k + 4)} << 32 | low;
  }
  return values;
}

inline void print(counter_values const& v) {
  for (std::size_t k = 0; k != v.size(); ++k) {
    std::printf("  %-14s %llu\n", counter_names[k].data(), static_cast<unsigned long long>(v[k]));
  }
}

/// Converts counters to the type of the soft switch.
[[nodiscard]] inline tutti::detail::fpga_nic::counters to_switch_counters(counter_values const& v) noexcept {
  tutti::detail::fpga_nic::counters c;
  c.packets = v[6];
  c.malformed_packets = v[7];
  c.invalid_tags = v[8];
  c.joins = v[9];
  c.leaves = v[10];
  c.ends = v[11];
  c.queries = v[12];
  c.stored_contributions = v[13];
  c.completed_results = v[14];
  c.repeats = v[15];
  c.duplicates = v[16];
  c.busy = v[17];
  for (std::size_t reason = 1; reason != 6; ++reason) {
    c.refusals[reason] = v[17 + reason];
  }
  c.refusals_for(tutti::detail::fpga_nic::refusal::no_weights) = v[27];
  c.stores = v[28];
  c.pulls = v[29];
  c.updates = v[30];
  c.unanswered_refusals = v[23];
  c.results = v[24];
  c.congestion_marks = v[25];
  return c;
}

}  // namespace device
