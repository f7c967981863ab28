// SPDX-License-Identifier: Apache-2.0
#include "draw.hpp"
#include "targets.hpp"
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/summing_switch.hpp>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

namespace nic = tutti::detail::fpga_nic;

namespace {

constexpr std::uint32_t addresses = 4;  // some of them never join

/// The slots of all jobs.
std::map<std::uint32_t, nic::slot_table> slots_of(nic::summing_switch<std::uint32_t> const& device) {
  std::map<std::uint32_t, nic::slot_table> slots;
  for (auto const& j : device.jobs()) {
    slots.emplace(j.nonce(), j.slot_table());
  }
  return slots;
}

class thrower {
 public:
  thrower(std::uint64_t seed, nic::seal const& seal)
      : seed_(seed),
        seal_(seal),
        next_(seed, seal),
        device_({.jobs = 2, .slot_count = draw::slots, .keys = draw::blocks, .lease = std::chrono::milliseconds(20)},
                seal) {}

  void throw_one() {
    ++packet_count_;
    now_ +=
        std::chrono::microseconds(next_.random_below(200)) + std::chrono::milliseconds(next_.one_in(5000) ? 100 : 0);
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
                   check(destination == source || goes_to_all, "was answered to another address");
                   check(is_read, "is malformed, and was answered");
                   check(!is_unknown(counters_before) || payload.size() <= p.payload.size(),
                         "of an unknown sender got an answer that is longer");
                 });
    auto const& counters_after = device_.counts();
    check(counters_after.packets == counters_before.packets + 1 &&
              counters_after.packets == counters_after.accounted_packets(),
          "is counted in none or in several ways");
    check(is_read || counters_after.malformed_packets + counters_after.invalid_tags ==
                         counters_before.malformed_packets + counters_before.invalid_tags + 1,
          "is malformed, and not counted so");
    check(counters_after.total_refusals() - counters_before.total_refusals() == 1 || !was_refused_,
          "was refused, and not counted so");
    was_refused_ = false;
    compare(counters_before, counters_after);
  }

  [[nodiscard]] nic::counters const& counts() const { return device_.counts(); }

 private:
  void check(bool is_right, char const* problem) const {
    if (!is_right) {
      throw violation("packet " + std::to_string(packet_count_) + " of seed " + std::to_string(seed_) + " " + problem);
    }
  }
  /// True if the current packet was counted as one of an unknown sender.
  [[nodiscard]] bool is_unknown(nic::counters const& counters_before) const {
    return device_.counts().refusals_for(nic::refusal::unknown) != counters_before.refusals_for(nic::refusal::unknown);
  }
  void check_answer(nic::header const& h, std::span<std::byte const> payload) {
    std::array<std::byte, nic::max_packet> bytes;
    nic::packet p;
    check(h.length == payload.size() && payload.size() <= nic::max_payload,
          "was answered with another length than said");
    check(seal_.read({bytes.data(), seal_.write(h, payload, bytes.data())}, p) == nic::reading::good,
          "got a malformed answer");
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
      slots_ = slots_of(device_);
      return;
    }
    for (auto const& j : device_.jobs()) {
      auto const old_table = slots_.find(j.nonce());
      check(old_table != slots_.end() && old_table->second == j.slot_table(), "has changed a slot, and was not taken");
    }
  }

  std::uint64_t seed_;
  nic::seal seal_;
  draw next_;
  nic::summing_switch<std::uint32_t> device_;
  std::map<std::uint32_t, nic::slot_table> slots_;
  tutti::time_point now_{};
  std::uint64_t packet_count_ = 0;
  bool was_refused_ = false;
};

}  // namespace

void throw_at_switch(std::uint64_t packets, std::uint64_t seed) {
  nic::secret_key key{};
  key[3] = std::byte{42};
  for (nic::seal const& seal : {nic::seal(), nic::seal(key)}) {
    thrower t(seed, seal);
    for (std::uint64_t i = 0; i < packets / 2; ++i) {
      t.throw_one();
    }
    auto const& c = t.counts();
    std::printf("switch: %llu packets, %llu malformed, %llu badly tagged, %llu stored, %llu completed, %llu joins",
                static_cast<unsigned long long>(c.packets), static_cast<unsigned long long>(c.malformed_packets),
                static_cast<unsigned long long>(c.invalid_tags),
                static_cast<unsigned long long>(c.stored_contributions),
                static_cast<unsigned long long>(c.completed_results), static_cast<unsigned long long>(c.joins));
    for (auto const& [reason, name] : {std::pair{nic::refusal::mismatch, "mismatch"},
                                       {nic::refusal::unknown, "unknown"},
                                       {nic::refusal::no_slots, "no slots"},
                                       {nic::refusal::late, "late"},
                                       {nic::refusal::unsupported_operation, "unsupported"},
                                       {nic::refusal::no_weights, "no weights"}}) {
      std::printf(", %llu %s", static_cast<unsigned long long>(c.refusals_for(reason)), name);
      if (c.refusals_for(reason) == 0 && packets >= 100'000) {
        throw violation(std::string("no packet was refused as ") + name + ": they are drawn too narrowly");
      }
    }
    std::printf("\n");
    if ((c.completed_results == 0 || c.updates == 0 || c.pulls == 0) && packets >= 100'000) {
      throw violation("no slot was completed, nothing updated or nothing pulled: packets are drawn too narrowly");
    }
  }
}
