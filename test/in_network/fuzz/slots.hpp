// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "draw.hpp"
#include <fuzz/fuzz.hpp>
#include <tutti/in_network/detail/fpga_nic/slot_table.hpp>

#include <algorithm>

namespace nic = tutti::detail::fpga_nic;

/// Gives a packet about a block: it changes no slot, and no block to an earlier version.
inline void give_weights(nic::slot_table& slots, nic::slot_table const& old_slots, nic::packet const& p) {
  auto const k = p.head.sequence;
  auto const v = p.head.kind == nic::kind::supply ? slots.store(p.head, p.payload) : slots.recall(p.head);
  if (v.result != nic::outcome::pending) {
    fuzz::expect(slots == old_slots, "a packet that is not taken changes nothing");
    return;
  }
  bool const is_in_time = !old_slots.weights().has(k) ||
                          static_cast<std::int32_t>(p.head.fingerprint - old_slots.weights().version(k)) >= 0;
  fuzz::expect(is_in_time && slots.weights().has(k, p.head.fingerprint) &&
                   std::ranges::equal(slots.weights().data(k), p.payload),
               "a block is stored as it is, and never over a later one");
  for (std::uint32_t i = 0; i < draw::blocks; ++i) {
    bool const had_block = old_slots.weights().has(i);
    fuzz::expect(i == k || (had_block == slots.weights().has(i) &&
                            (!had_block || std::ranges::equal(old_slots.weights().data(i), slots.weights().data(i)))),
                 "a packet changes no other block");
  }
}

/// Checks that only `stored` and `completed` change slots, and no slot but the packet's.
inline void give_to_slots(draw& next, fuzz::input const& words) {
  nic::slot_table slots(draw::slots, 4);
  slots.make_room(draw::blocks);
  nic::slot_table old_slots = slots;
  while (words.size() != 0) {
    nic::packet p;
    if (!nic::parse(next.packet(), p)) {
      continue;
    }
    if (p.head.has(nic::flag::weights)) {
      give_weights(slots, old_slots, p);
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
    bool const is_query = p.head.kind != nic::kind::contribute && p.head.kind != nic::kind::supply;
    bool const may_change = !is_query && (v.result == nic::outcome::pending || v.result == nic::outcome::complete);
    if (!may_change) {
      fuzz::expect(slots == old_slots, "a packet that is not taken changes no slot");
      continue;
    }
    auto const& a = slots.at(p.head);
    fuzz::expect(a.has_sequence(p.head.sequence) && a.length <= nic::max_payload && a.count <= a.workers &&
                     (v.result == nic::outcome::complete) == (a.progress == nic::aggregate::state::complete),
                 "a slot is in a state that can be");
    bool const updates = v.result == nic::outcome::complete && nic::has_terms(p.head);
    fuzz::expect(updates != (slots.weights() == old_slots.weights()),
                 "a complete update, and nothing else, changes weights");
    for (std::uint16_t s = 0; s < slots.size(); ++s) {
      for (std::uint16_t const phase : {std::uint16_t{0}, nic::flag::phase}) {
        nic::header other;
        other.slot = s;
        other.flags = phase;
        bool const is_own = s == p.head.slot && (phase != 0) == p.head.has(nic::flag::phase);
        fuzz::expect(is_own || slots.at(other) == old_slots.at(other), "a packet changes no other slot");
      }
    }
    old_slots = slots;
  }
}
