// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>

/// What packets are thrown at. Each throws `packets` of them, drawn from `seed`, and prints what became of them.
/// @throws broken with what was not as it has to be
struct broken : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Whether what neither stores nor completes leaves slots as they were, and what does changes no other slot.
void throw_at_slots(std::uint64_t packets, std::uint64_t seed);

/// Whether jobs survive, no refused packet changes a slot, each packet is counted, and each answer is well formed, goes
/// where it has to and is no longer than what an unknown sender has sent.
void throw_at_switch(std::uint64_t packets, std::uint64_t seed);

/// The same of the switch of a rack, and the device above it.
void throw_at_racks(std::uint64_t packets, std::uint64_t seed);

/// Whether a UDP port hands on each datagram as it is, in bursts and alone.
void throw_at_port(std::uint64_t packets, std::uint64_t seed);
