// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/trace/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

namespace detail {

/// Measures the difference of this rank's clock to rank 0's, at rank 0. The error is at most half of the shortest of
/// several round trips (Cristian, "Probabilistic clock synchronization", 1989).
template <class Communicator>
[[nodiscard]] duration clock_ahead(Communicator& world, rank_type other) {
  send give{world};
  recv take{world};
  std::array<std::int64_t, 1> word{};
  duration shortest = (duration::max)();
  duration ahead{};
  for (int i = 0; i != 16; ++i) {
    if (world.rank() == 0) {
      time_point const send_time = world.transport().now();
      give(word, other);
      take(word, other);
      time_point const receive_time = world.transport().now();
      if (receive_time - send_time < shortest) {
        shortest = receive_time - send_time;
        ahead = duration(word[0]) - (send_time + (receive_time - send_time) / 2);
      }
    } else {
      take(word, 0);
      word[0] = world.transport().now().count();
      give(word, 0);
    }
  }
  return ahead;
}

}  // namespace detail

/// Collects the timelines of all ranks at rank 0; returns nothing elsewhere. Hosts have different clocks, so timelines
/// from other hosts are shifted to rank 0's time, by the measured difference.
///
///     auto const all = tutti::gather_timelines(world, tutti::timeline::copy_of(world.trace()));
///     if (world.rank() == 0) { write(tutti::chrome_trace::text(tutti::causality(all))); }
///
/// Collective over the communicator.
///
/// @pre every rank calls it at the same point in its sequence of operations
/// @throws error like all operations
///
/// Cost: two messages per rank, with all its events; 32 more for ranks of other hosts.
/// Thread safety: as the communicator.
template <group Communicator>
[[nodiscard]] std::vector<timeline> gather_timelines(Communicator& world, timeline local_timeline) {
  send give{world};
  recv take{world};
  std::array<std::uint64_t, 1> size{};
  if (world.rank() != 0) {
    auto const bytes = local_timeline.pack();
    size[0] = bytes.size();
    give(size, 0);
    give(bytes, 0);
    if (world.hosts().host(world.rank()) != world.hosts().host(0)) {
      (void)detail::clock_ahead(world, 0);
    }
    return {};
  }
  std::vector<timeline> timelines{std::move(local_timeline)};
  for (rank_type r = 1; r != world.size(); ++r) {
    take(size, r);
    std::vector<std::byte> bytes(size[0]);
    take(bytes, r);
    timelines.push_back(timeline::unpack(bytes));
    if (world.hosts().host(r) != world.hosts().host(0)) {
      timelines.back().shift(-detail::clock_ahead(world, r));
    }
  }
  return timelines;
}

}  // namespace tutti
