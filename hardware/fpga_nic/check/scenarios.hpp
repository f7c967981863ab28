// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../registers/device.hpp"

#include <cstdint>

/// What the device is put through. Each begins with a device after a reset, is drawn from a seed, gives about this many
/// frames, and returns what was counted. @throws std::runtime_error if the device differs from its model

/// Packets of few jobs, spoilt in any field.
[[nodiscard]] device::counter_values throw_packets(std::uint64_t seed, std::uint64_t frames);

struct work {
  std::uint64_t frames = 0;
  std::uint64_t sequences = 0;  ///< of which all workers have the result
  device::counter_values counted{};
};
/// Jobs of `least` to `most` workers that sum over a network that loses, repeats and reorders. All get each result, and
/// the same.
[[nodiscard]] work do_work(std::uint64_t seed, std::uint64_t frames, unsigned least, unsigned most);
