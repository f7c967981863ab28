// SPDX-License-Identifier: Apache-2.0
#include "draw.hpp"
#include "targets.hpp"
#include <tutti/in_network/detail/fpga_nic/slot_table.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace nic = tutti::detail::fpga_nic;

namespace {

/// Throws a packet about a block: it changes no slot, and no block to an earlier version.
void throw_weights(nic::slot_table& slots, nic::slot_table const& old_slots, nic::packet const& p,
                   std::string const& description) {
  auto const k = p.head.sequence;
  auto const v = p.head.kind == nic::kind::supply ? slots.store(p.head, p.payload) : slots.recall(p.head);
  if (v.result != nic::outcome::pending) {
    if (!(slots == old_slots)) {
      throw violation(description + " was not taken, and has changed something");
    }
    return;
  }
  bool const is_in_time = !old_slots.weights().has(k) ||
                          static_cast<std::int32_t>(p.head.fingerprint - old_slots.weights().version(k)) >= 0;
  if (!is_in_time || !slots.weights().has(k, p.head.fingerprint) ||
      !std::ranges::equal(slots.weights().data(k), p.payload)) {
    throw violation(description + " was stored where a later block was, or as another one");
  }
  for (std::uint32_t i = 0; i < draw::blocks; ++i) {
    bool const had_block = old_slots.weights().has(i);
    if (i != k && (had_block != slots.weights().has(i) ||
                   (had_block && !std::ranges::equal(old_slots.weights().data(i), slots.weights().data(i))))) {
      throw violation(description + " has changed another block than its own");
    }
  }
}

}  // namespace

void throw_at_slots(std::uint64_t packets, std::uint64_t seed) {
  draw next(seed, {});
  nic::slot_table slots(draw::slots, 4);
  nic::slot_table old_slots = slots;
  std::uint64_t malformed_packets = 0;
  std::array<std::uint64_t, 10> outcomes{};
  for (std::uint64_t i = 0; i < packets; ++i) {
    if (i % 400 == 0) {  // a sequence far ahead makes all others late
      slots = nic::slot_table(draw::slots, 4);
      slots.make_room(draw::blocks);
      old_slots = slots;
    }
    std::string const description = "packet " + std::to_string(i) + " of seed " + std::to_string(seed);
    nic::packet p;
    if (!nic::parse(next.packet(), p)) {
      ++malformed_packets;
      continue;
    }
    if (p.head.has(nic::flag::weights)) {
      throw_weights(slots, old_slots, p, description);
      old_slots = slots;
      continue;
    }
    auto const member = p.head.worker;
    nic::verdict v;
    switch (p.head.kind) {
      case nic::kind::contribute:
        v = slots.contribute(member, p.head, p.payload);
        break;
      case nic::kind::supply:
        v = slots.supply(member, p.head, p.payload);
        break;
      default:
        v = slots.query(p.head);
    }
    ++outcomes[static_cast<std::size_t>(v.result)];
    bool const is_query = p.head.kind != nic::kind::contribute && p.head.kind != nic::kind::supply;
    bool const may_change = !is_query && (v.result == nic::outcome::pending || v.result == nic::outcome::complete);
    if (!may_change) {
      if (!(slots == old_slots)) {
        throw violation(description + " was not taken, and has changed a slot");
      }
      continue;
    }
    auto const& a = slots.at(p.head);
    if (!a.has_sequence(p.head.sequence) || a.length > nic::max_payload || a.count > a.workers ||
        (v.result == nic::outcome::complete) != (a.progress == nic::aggregate::state::complete)) {
      throw violation(description + " has left a slot that cannot be");
    }
    bool const updates = v.result == nic::outcome::complete && nic::has_terms(p.head);
    if (updates == (slots.weights() == old_slots.weights())) {
      throw violation(description + (updates ? " has updated nothing" : " has changed weights"));
    }
    for (std::uint16_t s = 0; s < slots.size(); ++s) {
      for (std::uint16_t const phase : {std::uint16_t{0}, nic::flag::phase}) {
        nic::header other;
        other.slot = s;
        other.flags = phase;
        bool const is_own = s == p.head.slot && (phase != 0) == p.head.has(nic::flag::phase);
        if (!is_own && !(slots.at(other) == old_slots.at(other))) {
          throw violation(description + " has changed another slot than its own");
        }
      }
    }
    old_slots = slots;
  }
  std::printf("slots: %llu packets, %llu malformed", static_cast<unsigned long long>(packets),
              static_cast<unsigned long long>(malformed_packets));
  constexpr std::array names{"stored", "completed", "accepted",    "duplicate", "busy",
                             "late",   "mismatch",  "unsupported", "no slot",   "no weights"};
  for (std::size_t o = 0; o < outcomes.size(); ++o) {
    std::printf(", %llu %s", static_cast<unsigned long long>(outcomes[o]), names[o]);
    if (outcomes[o] == 0 && packets >= 100'000) {
      throw violation(std::string("no packet was ") + names[o] + ": they are drawn too narrowly");
    }
  }
  std::printf("\n");
}
