// SPDX-License-Identifier: Apache-2.0
#include "draw.hpp"
#include "targets.hpp"
#include <tutti/detail/fpga_nic/slots.hpp>

#include <array>
#include <cstdio>
#include <string>

namespace nic = tutti::detail::fpga_nic;

void throw_at_slots(std::uint64_t packets, std::uint64_t seed) {
  draw next(seed, {});
  nic::slots slots(draw::slots, 4);
  nic::slots before = slots;
  std::uint64_t malformed = 0;
  std::array<std::uint64_t, 9> outcomes{};
  for (std::uint64_t i = 0; i < packets; ++i) {
    if (i % 400 == 0) {  // a sequence that was drawn far ahead makes all others late
      slots = nic::slots(draw::slots, 4);
      before = slots;
    }
    nic::packet p;
    if (!nic::parse(next.packet(), p)) {
      ++malformed;
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
    ++outcomes[static_cast<std::size_t>(v.what)];
    bool const is_query = p.head.kind != nic::kind::contribute && p.head.kind != nic::kind::supply;
    bool const may_change = !is_query && (v.what == nic::outcome::stored || v.what == nic::outcome::completed);
    std::string const which = "packet " + std::to_string(i) + " of seed " + std::to_string(seed);
    if (!may_change) {
      if (!(slots == before)) {
        throw broken(which + " was not taken, and has changed a slot");
      }
      continue;
    }
    auto const& a = slots.at(p.head);
    if (!a.is(p.head.sequence) || a.length > nic::most_payload || a.count > a.workers ||
        (v.what == nic::outcome::completed) != (a.stands == nic::aggregate::state::complete)) {
      throw broken(which + " has left a slot that cannot be");
    }
    for (std::uint16_t s = 0; s < slots.size(); ++s) {
      for (std::uint16_t const phase : {std::uint16_t{0}, nic::flag::phase}) {
        nic::header other;
        other.slot = s;
        other.flags = phase;
        bool const is_it = s == p.head.slot && (phase != 0) == p.head.has(nic::flag::phase);
        if (!is_it && !(slots.at(other) == before.at(other))) {
          throw broken(which + " has changed another slot than its own");
        }
      }
    }
    before = slots;
  }
  std::printf("slots: %llu packets, %llu malformed", static_cast<unsigned long long>(packets),
              static_cast<unsigned long long>(malformed));
  constexpr std::array names{"stored", "completed", "accepted",    "duplicate", "busy",
                             "late",   "mismatch",  "unsupported", "no slot"};
  for (std::size_t o = 0; o < outcomes.size(); ++o) {
    std::printf(", %llu %s", static_cast<unsigned long long>(outcomes[o]), names[o]);
    if (outcomes[o] == 0 && packets >= 100'000) {
      throw broken(std::string("no packet was ") + names[o] + ": they are drawn too narrowly");
    }
  }
  std::printf("\n");
}
