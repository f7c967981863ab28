// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/machine.hpp>
#include <tutti/detail/tuning/profile.hpp>
#include <tutti/detail/tuning/stopwatch.hpp>
#include <tutti/topology/in_network.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// What a message to a helper and the one from it take, half of it each: an allreduce takes twice the latency, a
/// packet, which is handed on when it is there, and the message. Short segments tell what each takes of a processor.
/// Ranks that share an interface send all at once here, as they do later.
template <class Communicator>
class helper_meter {
 public:
  /// Whether the transport has helpers that sum.
  static constexpr bool sums = can_be_helped<typename Communicator::transport_type, combining<sum<float>>>;

  helper_meter(Communicator& world, stopwatch<Communicator>& clock) : world_(world), clock_(clock) {}

  /// Collective; all ranks get the same. @param neighbour the cost of combining
  network_profile::link measure(network_profile::link const& neighbour, duration budget) {
    allreduce run{world_, in_network{}, sum<float>{}};
    bool is_new = false;
    if constexpr (requires { world_.transport().helpers_are_new(); }) {
      is_new = world_.transport().helpers_are_new();
    }
    std::int64_t const limit = budget.count() * 1000;
    std::int64_t spent = 0;
    std::vector<float> memory;
    auto const timed = [&](std::int64_t turns, int warming) {
      auto const begin = world_.transport().now();
      std::int64_t t[2] = {clock_.time(run, memory, static_cast<int>(turns), warming), 0};
      t[1] = clock_.since(begin);
      clock_.agree(std::span(t));
      spent += t[1];
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
      if (bytes > always_measured && spent + 3 * expected > limit) {
        break;
      }
      memory.resize(bytes / sizeof(float));
      last = timed(
          last == 0 ? 16
                    : std::clamp<std::int64_t>((limit - spent) / 6 / expected, 2, stopwatch<Communicator>::most_turns),
          1);
      if (link.points.empty()) {
        shortest = last;
      }
      auto const packet = static_cast<std::int64_t>((std::min)(bytes, helper_packet));
      std::int64_t const moving = std::max<std::int64_t>(last - shortest - at_size(neighbour, bytes).combine, 0);
      link.points.push_back({.bytes = bytes, .wire = moving - moving / (size + packet) * packet});
      if (bytes == always_measured) {
        run.segment(short_segment);
        constexpr std::int64_t segments = always_measured / short_segment;
        gap = std::clamp<std::int64_t>((timed(4, 1) - shortest) / segments, 0, shortest / 2) / 2;
        run.segment(0);
      }
    }
    if constexpr (requires { world_.transport().release_helpers(); }) {
      if (is_new) {  // all have ended what was done here: they have agreed on what it took
        world_.transport().release_helpers();
      }
    }
    link.latency = shortest / 2 - gap;
    for (std::size_t i = link.points.size(); i-- > 0;) {
      network_profile::point& p = link.points[i];
      p.send = p.lead = p.receive = gap;
      if (i + 1 != link.points.size()) {  // a long one is not faster: the short one was disturbed
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
