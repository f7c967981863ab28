// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>

/// Targets of random packets. Each throws `packets` of them, drawn from `seed`, and prints a summary.
/// @throws violation with the violated rule
struct violation : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Checks that only `stored` and `completed` change slots, and no slot but the packet's.
void throw_at_slots(std::uint64_t packets, std::uint64_t seed);

/// Checks that jobs survive, that no refused packet changes a slot, that each packet is counted, and that each answer
/// is well formed, goes to the right address, and is no longer than the packet of an unknown sender.
void throw_at_switch(std::uint64_t packets, std::uint64_t seed);

/// Checks the same rules for the switch of a rack and the device above it.
void throw_at_racks(std::uint64_t packets, std::uint64_t seed);

/// Checks that a UDP port delivers each datagram unchanged, in bursts and alone.
void throw_at_port(std::uint64_t packets, std::uint64_t seed);
