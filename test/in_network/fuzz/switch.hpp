// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "draw.hpp"
#include <fuzz/fuzz.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/summing_switch.hpp>

#include <array>
#include <map>

namespace nic = tutti::detail::fpga_nic;

/// A switch. Checks that jobs survive, that no refused packet changes a slot, that each packet is counted, and that
/// each answer is well formed, goes to the right address, and is no longer than the packet of an unknown sender.
class switch_target {
 public:
  switch_target(draw& next, nic::seal const& seal)
      : seal_(seal),
        next_(next),
        device_({.jobs = 2,
                 .slot_count = draw::slots,
                 .keys = draw::blocks,
                 .memory = draw::memory,
                 .lease = std::chrono::milliseconds(20)},
                seal) {}

  void give_one() {
    now_ += std::chrono::microseconds(next_.random_below(200)) + std::chrono::milliseconds(next_.one_in(250) ? 100 : 0);
    auto const bytes = next_.packet();
    nic::packet p;
    bool const is_read = seal_.read(bytes, p) == nic::reading::good;
    // Mostly a member at the address of its number.
    auto const source = static_cast<std::uint32_t>(next_.one_in(20) || !is_read ? next_.random_below(addresses)
                                                                                : p.head.worker % addresses);

    auto const counters_before = device_.counts();
    unsigned answers = 0;
    device_.take(source, bytes, next_.one_in(100), now_,
                 [&](std::uint32_t destination, nic::header const& h, std::span<std::byte const> payload) {
                   ++answers;
                   check_answer(h, payload);
                   bool const goes_to_all = h.kind == nic::kind::result && !h.has(nic::flag::weights);
                   fuzz::expect(destination == source || goes_to_all,
                                "an answer goes to the sender, or a result to all");
                   fuzz::expect(is_read, "a malformed packet gets no answer");
                   fuzz::expect(!is_unknown(counters_before) || payload.size() <= p.payload.size(),
                                "an unknown sender gets no longer answer");
                 });
    auto const& counters_after = device_.counts();
    fuzz::expect(counters_after.packets == counters_before.packets + 1 &&
                     counters_after.packets == counters_after.accounted_packets(),
                 "a packet is counted in one way");
    fuzz::expect(is_read || counters_after.malformed_packets + counters_after.invalid_tags ==
                                counters_before.malformed_packets + counters_before.invalid_tags + 1,
                 "a malformed packet is counted so");
    fuzz::expect(counters_after.total_refusals() - counters_before.total_refusals() == 1 || !was_refused_,
                 "a refusal is counted");
    was_refused_ = false;
    compare(counters_before, counters_after);
  }

 private:
  static constexpr std::uint32_t addresses = 4;  ///< some of them never join

  /// The slots of all jobs.
  [[nodiscard]] std::map<std::uint32_t, nic::slot_table> slots() const {
    std::map<std::uint32_t, nic::slot_table> tables;
    for (auto const& j : device_.jobs()) {
      tables.emplace(j.nonce(), j.slot_table());
    }
    return tables;
  }
  /// True if the current packet was counted as one of an unknown sender.
  [[nodiscard]] bool is_unknown(nic::counters const& counters_before) const {
    return device_.counts().refusals_for(nic::refusal::unknown) != counters_before.refusals_for(nic::refusal::unknown);
  }
  void check_answer(nic::header const& h, std::span<std::byte const> payload) {
    std::array<std::byte, nic::max_packet> bytes;
    nic::packet p;
    fuzz::expect(h.length == payload.size() && payload.size() <= nic::max_payload, "an answer is as long as it says");
    fuzz::expect(seal_.read({bytes.data(), seal_.write(h, payload, bytes.data())}, p) == nic::reading::good,
                 "an answer is well formed");
    was_refused_ = was_refused_ || h.kind == nic::kind::refuse;
  }
  /// Compares the slots before and after the packet.
  void compare(nic::counters const& counters_before, nic::counters const& counters_after) {
    bool const has_stored = counters_after.stored_contributions != counters_before.stored_contributions ||
                            counters_after.completed_results != counters_before.completed_results ||
                            counters_after.stores != counters_before.stores;
    bool const job_came_or_went =
        device_.jobs().size() != slots_.size() || counters_after.joins != counters_before.joins ||
        counters_after.ends != counters_before.ends || counters_after.leaves != counters_before.leaves ||
        counters_after.refusals_for(nic::refusal::no_slots) != counters_before.refusals_for(nic::refusal::no_slots);
    if (has_stored || job_came_or_went) {
      slots_ = slots();
      return;
    }
    for (auto const& j : device_.jobs()) {
      auto const old_table = slots_.find(j.nonce());
      fuzz::expect(old_table != slots_.end() && old_table->second == j.slot_table(),
                   "a packet that is not taken changes no slot");
    }
  }

  nic::seal seal_;
  draw& next_;
  nic::summing_switch<std::uint32_t> device_;
  std::map<std::uint32_t, nic::slot_table> slots_;
  tutti::time_point now_{};
  bool was_refused_ = false;
};
