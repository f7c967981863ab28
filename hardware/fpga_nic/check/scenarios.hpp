// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../registers/device.hpp"

#include <cstdint>

/// Scenarios for the device. Each begins after a reset, is drawn from a seed, sends about `frames` frames, and
/// returns counters. @throws std::runtime_error if the device differs from its model

/// Sends packets of a few jobs, damaged in any field.
[[nodiscard]] device::counter_values throw_packets(std::uint64_t seed, std::uint64_t frames);

struct work {
  std::uint64_t frames = 0;
  std::uint64_t sequences = 0;  ///< sequences whose result all workers have
  device::counter_values counters{};
};
/// Sums in jobs of `min_workers` to `max_workers` workers, over a network that loses, repeats and reorders. All workers
/// get each result, and equal ones.
[[nodiscard]] work do_work(std::uint64_t seed, std::uint64_t frames, unsigned min_workers, unsigned max_workers);
