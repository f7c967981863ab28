// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/tuning/probe.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/doubling.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// The message sizes at which links are measured, in bytes.
inline constexpr std::array<std::size_t, 9> measured_sizes{4,         256,        2048,       16 << 10,   64 << 10,
                                                           256 << 10, 1024 << 10, 4096 << 10, 16384 << 10};
/// Sizes up to this one are measured whatever the budget.
inline constexpr std::size_t always_measured = 64 << 10;

/// Times operations of a world, in picoseconds of this rank, and agrees on the time of the slowest rank.
template <class Communicator>
class stopwatch {
 public:
  static constexpr int most_turns = 32;

  explicit stopwatch(Communicator& world) : world_(world), agree_(world, doubling{}, max<std::int64_t>{}) {}

  /// Replaces each value by its maximum over all ranks. Collective.
  void agree(std::span<std::int64_t> values) { agree_(values); }

  /// The lower quartile of the times of `turns` runs, after `warming` runs that are not timed.
  std::int64_t time(probe const& schedule, std::span<float> memory, int turns, int warming) {
    allreduce run{world_, schedule, sum<float>{}};
    return time(run, memory, turns, warming);
  }
  template <class Topology>
  std::int64_t time(allreduce<Communicator, Topology, sum<float>>& run, std::span<float> memory, int turns,
                    int warming) {
    for (int i = 0; i < warming; ++i) {
      run(memory);
    }
    std::array<std::int64_t, most_turns> took{};
    for (int i = 0; i < turns; ++i) {
      access::state(world_).wait_policy = {};  // resets the backoff, as if each rank had a core
      auto const begin = world_.transport().now();
      run(memory);
      took[static_cast<std::size_t>(i)] = time_since(begin);
    }
    auto const middle = took.begin() + turns / 4;
    std::nth_element(took.begin(), middle, took.begin() + turns);
    return *middle;
  }

  /// The time since `begin` in picoseconds.
  [[nodiscard]] std::int64_t time_since(time_point begin) const {
    return (world_.transport().now() - begin).count() * 1000;
  }

 private:
  Communicator& world_;
  allreduce<Communicator, doubling, max<std::int64_t>> agree_;
};

}  // namespace tutti::detail::tuning
