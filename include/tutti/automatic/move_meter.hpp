// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/automatic/probe.hpp>
#include <tutti/automatic/profile.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/doubling.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace tutti {

/// Measures what messages take of operations that only move: transports through memory send those in other ways than
/// what is combined, and what peers read costs its owner only when he writes it again. So here nobody writes what he
/// has received, and all write what they will send anew, before the clock runs.
///
/// For each of some sizes: every second rank sends the next one a vector, whole and then two of them, one after the
/// other; and all send and receive one at a time. The first tells how long one takes, the second how fast they follow
/// each other, the third what sending takes of a processor that receives, too.
template <class Communicator>
class move_meter {
 public:
  static constexpr std::size_t longest = 256 << 10;

  explicit move_meter(Communicator& world) : world_(world), agree_(world, doubling{}, max<std::int64_t>{}) {}

  /// Collective, as `world_meter::measure`; in picoseconds. `latency` is told apart from each message's own delay.
  /// @pre the memory has room for two vectors of `longest` bytes @throws error
  [[nodiscard]] std::vector<network_profile::move> measure(std::vector<rank_type> const& group, std::int64_t latency,
                                                           std::int64_t budget, std::span<float> memory) {
    std::vector<network_profile::move> all;
    std::int64_t left = budget;
    std::int64_t once = 0;
    for (std::size_t const bytes : sizes) {
      if (bytes > always && left < least_turns * 4 * once) {
        break;
      }
      std::int64_t const share = bytes == sizes.back() ? left : left / 4;
      times const t = time_size(group, memory.first(bytes / 2), share, once);
      left -= t.spent;
      all.push_back(solve(bytes, t, latency));
    }
    return all;
  }

 private:
  /// Beside powers of two, the longest that transports through memory copy, more or less.
  static constexpr std::array<std::size_t, 7> sizes{4, 256, 2048, 16 << 10, 60 << 10, 64 << 10, longest};
  static constexpr std::size_t always = 64 << 10;
  static constexpr int least_turns = 4;
  static constexpr int most_turns = 16;

  struct times {
    std::int64_t one;    ///< of a message
    std::int64_t two;    ///< of two that follow each other
    std::int64_t trade;  ///< of sending one and receiving one
    std::int64_t spent;
  };

  static network_profile::move solve(std::size_t bytes, times const& t, std::int64_t latency) {
    std::int64_t const whole = std::max<std::int64_t>(t.one - latency, 2);
    std::int64_t const each = std::clamp<std::int64_t>(t.two - t.one, 1, whole - 1);
    std::int64_t const lead = std::min(whole - each, each);
    return {.bytes = bytes,
            .send = std::clamp(t.trade - latency - each, lead, each),
            .lead = lead,
            .delay = whole - lead - each,
            .receive = each};
  }

  /// `once`: what one turn of this size takes, after the call.
  times time_size(std::vector<rank_type> const& group, std::span<float> memory, std::int64_t share,
                  std::int64_t& once) {
    time_point const begin = world_.transport().now();
    std::span<float> const half = memory.first(memory.size() / 2);
    auto const turn = [&] {
      return std::array{time({probe::kind::train, group, world_.rank(), 1, action::copy}, half),
                        time({probe::kind::train, group, world_.rank(), 2, action::copy}, memory),
                        time({probe::kind::trade, group, world_.rank(), 1, action::copy}, memory)};
    };
    for (int i = 0; i < 2; ++i) {  // the second one tells
      time_point const before = world_.transport().now();
      (void)turn();
      once = since(before);
    }
    agree_(std::span(&once, 1));  // ranks decide alike: they go by nothing but what they have agreed on
    auto const turns =
        static_cast<int>(std::clamp<std::int64_t>(share / std::max<std::int64_t>(once, 1), least_turns, most_turns));
    std::array<std::array<std::int64_t, most_turns>, 3> took{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(turns); ++i) {
      auto const now = turn();
      for (std::size_t k = 0; k < 3; ++k) {
        took[k][i] = now[k];
      }
    }
    for (auto& of : took) {
      std::nth_element(of.begin(), of.begin() + turns / 4, of.begin() + turns);
    }
    std::int64_t t[4] = {took[0][static_cast<std::size_t>(turns / 4)], took[1][static_cast<std::size_t>(turns / 4)],
                         took[2][static_cast<std::size_t>(turns / 4)], since(begin)};
    agree_(std::span(t));
    return {t[0], t[1], t[2], t[3]};
  }

  std::int64_t time(probe const& what, std::span<float> memory) {
    broadcast run{world_, what};
    std::int64_t ready[1] = {0};
    std::fill(memory.begin(), memory.end(), 1.0F);
    agree_(std::span(ready));
    world_.patience() = {};  // as if nobody else computed here
    time_point const begin = world_.transport().now();
    run(memory, 0);
    return since(begin);
  }

  /// In picoseconds.
  [[nodiscard]] std::int64_t since(time_point begin) const { return (world_.transport().now() - begin).count() * 1000; }

  Communicator& world_;
  allreduce<Communicator, doubling, max<std::int64_t>> agree_;
};

}  // namespace tutti
