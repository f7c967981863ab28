// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/segment_runner.hpp>
#include <tutti/detail/tuning/profile.hpp>
#include <tutti/detail/tuning/stopwatch.hpp>
#include <tutti/topology/in_network.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// Prices a message to an in-network aggregator and one from it, at half of an allreduce each. An allreduce takes
/// twice the latency, the message, and a packet, which is forwarded once it is complete. Short segments show the
/// processor's share. Ranks that share an interface send at the same time here, as in later operations.
template <class Communicator>
class aggregator_meter {
 public:
  /// True if the transport has aggregators that sum.
  static constexpr bool sums = can_aggregate<typename Communicator::transport_type, combining<sum<float>>>;

  aggregator_meter(Communicator& world, stopwatch<Communicator>& clock) : world_(world), clock_(clock) {}

  /// Collective; all ranks get the same result.
  /// @param neighbour the link whose price of combining is subtracted
  network_profile::link measure(network_profile::link const& neighbour, duration budget) {
    allreduce run{world_, in_network{}, sum<float>{}};
    bool is_new = false;
    if constexpr (requires { world_.transport().aggregator_is_unused(); }) {
      is_new = world_.transport().aggregator_is_unused();
    }
    std::int64_t const limit = budget.count() * 1000;
    std::int64_t total = 0;
    std::vector<float> memory;
    auto const time_turns = [&](std::int64_t turns, int warming) {
      auto const begin = world_.transport().now();
      std::int64_t t[2] = {clock_.time(run, memory, static_cast<int>(turns), warming), 0};
      t[1] = clock_.time_since(begin);
      clock_.agree(std::span(t));
      total += t[1];
      return t[0];
    };
    network_profile::link link;
    std::int64_t shortest = 0;
    std::int64_t last = 0;
    std::int64_t gap = 0;
    for (std::size_t const bytes : measured_sizes) {
      auto const size = static_cast<std::int64_t>(bytes);
      std::int64_t const expected =
          bytes <= 2048 ? last : last * (size / static_cast<std::int64_t>(memory.size() * sizeof(float)));
      if (bytes > always_measured && total + 3 * expected > limit) {
        break;
      }
      memory.resize(bytes / sizeof(float));
      last = time_turns(
          last == 0 ? 16
                    : std::clamp<std::int64_t>((limit - total) / 6 / expected, 2, stopwatch<Communicator>::most_turns),
          1);
      if (link.points.empty()) {
        shortest = last;
      }
      auto const packet = static_cast<std::int64_t>((std::min)(bytes, aggregator_packet_bytes));
      std::int64_t const moving = std::max<std::int64_t>(last - shortest - at_size(neighbour, bytes).combine, 0);
      link.points.push_back({.bytes = bytes, .wire = moving - moving / (size + packet) * packet});
      if (bytes == always_measured) {
        run.segment(short_segment);
        constexpr std::int64_t segments = always_measured / short_segment;
        gap = std::clamp<std::int64_t>((time_turns(4, 1) - shortest) / segments, 0, shortest / 2) / 2;
        run.segment(0);
      }
    }
    if constexpr (requires { world_.transport().release_aggregators(); }) {
      if (is_new) {  // all ranks have finished, as they have agreed on the times
        world_.transport().release_aggregators();
      }
    }
    link.latency = shortest / 2 - gap;
    for (std::size_t i = link.points.size(); i-- > 0;) {
      network_profile::point& p = link.points[i];
      p.send = p.lead = p.receive = gap;
      if (i + 1 != link.points.size()) {  // a longer message is not faster, so the short one was disturbed
        p.wire = (std::min)(p.wire, link.points[i + 1].wire);
      }
    }
    return link;
  }

 private:
  static constexpr std::size_t short_segment = 2 << 10;

  Communicator& world_;
  stopwatch<Communicator>& clock_;
};

}  // namespace tutti::detail::tuning
