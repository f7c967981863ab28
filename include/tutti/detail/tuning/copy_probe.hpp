// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/tuning/probe.hpp>
#include <tutti/detail/tuning/profile.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/doubling.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// The result of a copy_probe: the prices of messages that are only moved.
struct copy_prices {
  std::vector<network_profile::move> sizes{};
  bool by_processors = false;  ///< a rank that sends long messages in a row is busy most of the time
};

/// Measures messages of operations that only move data. Transports through memory send them in other ways than
/// messages that are combined; a block that peers read costs its owner only when it is next written; and a rank that
/// waits for a message is slower than a busy one. So no rank writes the blocks that it has received, and all ranks
/// rewrite the blocks that they will send, and synchronize, before the clock runs.
///
/// At each of several sizes, every second rank sends the next one a single message, and then a train of messages; and
/// all ranks send and receive one message at a time. The first shows the time of one message, the second the interval
/// at which messages follow each other, the third the processor time of sending in a rank that also receives.
template <class Communicator>
class copy_probe {
  static constexpr bool through_memory = shares_memory<typename Communicator::transport_type>;
  /// Through memory, the sizes besides powers of two are near the longest message that is copied. Messages that a
  /// system moves are not shared; long ones are priced as messages that are stored.
  static constexpr auto sizes = [] {
    if constexpr (through_memory) {
      return std::array<std::size_t, 8>{4, 256, 2048, 4096, 16 << 10, 60 << 10, 64 << 10, 256 << 10};
    } else {
      return std::array<std::size_t, 5>{4, 256, 2048, 16 << 10, 64 << 10};
    }
  }();
  /// The length of a train. The second of two shared messages shows their interval; messages that are copied, and
  /// acknowledged only now and then, need more.
  static constexpr std::uint32_t train = through_memory ? 2 : 4;

 public:
  static constexpr std::size_t memory_bytes = sizes.back() * train;

  explicit copy_probe(Communicator& world) : world_(world), agree_(world, doubling{}, max<std::int64_t>{}) {}

  /// Collective, like `world_meter::measure`; in picoseconds. `latency` is not included in each message's own delay.
  /// @pre the memory has room for `memory_bytes`
  /// @throws error
  [[nodiscard]] copy_prices measure(std::vector<rank_type> const& group, std::int64_t latency, std::int64_t budget,
                                    std::span<float> memory) {
    copy_prices prices;
    auto const place = std::find(group.begin(), group.end(), world_.rank()) - group.begin();
    sends_ = place % 2 == 0 && place + 1 < static_cast<std::ptrdiff_t>(group.size());
    std::vector<times> measurements;
    std::int64_t left = budget;
    std::int64_t once = 0;
    for (std::size_t const bytes : sizes) {
      if (bytes > always && left < least_turns * 4 * once) {
        break;
      }
      std::int64_t const share = bytes == sizes.back() ? left : left / 4;
      times const t = time_size(group, memory.first(bytes / sizeof(float) * train), share, once);
      left -= t.total;
      measurements.push_back(t);
    }
    if constexpr (!through_memory) {  // sharing a message may be faster than copying a shorter one
      for (std::size_t i = measurements.size() - 1; i-- > 0;) {
        measurements[i].undisturbed_by(measurements[i + 1]);
      }
    }
    for (times const& t : measurements) {
      prices.sizes.push_back(solve(t, latency));
      if (t.bytes == always) {
        prices.by_processors = 2 * t.sending > t.in_a_row;
      }
    }
    return prices;
  }

 private:
  static constexpr std::size_t always = 64 << 10;
  static constexpr int least_turns = 4;
  static constexpr int most_turns = 16;
  /// The lower quartile of several turns counts. Where a system moves the bytes, whose own overhead varies in both
  /// directions, the median counts.
  static constexpr int quantile = through_memory ? 4 : 2;

  struct times {
    std::size_t bytes;
    std::int64_t single;    ///< time of a message
    std::int64_t in_a_row;  ///< time of a train
    std::int64_t trade;     ///< time of sending one message and receiving one
    std::int64_t sending;   ///< time until the sender of a train is done with it
    std::int64_t total;
    /// Lowers the times of a short message to those of a longer one.
    void undisturbed_by(times const& longer) {
      single = (std::min)(single, longer.single);
      in_a_row = (std::min)(in_a_row, longer.in_a_row);
      trade = (std::min)(trade, longer.trade);
    }
  };

  static network_profile::move solve(times const& t, std::int64_t latency) {
    std::int64_t const whole = std::max<std::int64_t>(t.single - latency, 2);
    std::int64_t const interval = std::clamp<std::int64_t>((t.in_a_row - t.single) / (train - 1), 1, whole - 1);
    std::int64_t const lead = (std::min)(whole - interval, interval);
    return {.bytes = t.bytes,
            .send = std::clamp(t.trade - latency - interval, lead, interval),
            .lead = lead,
            .delay = whole - lead - interval,
            .receive = interval};
  }

  /// @param once set to the time of one turn of this size
  times time_size(std::vector<rank_type> const& group, std::span<float> memory, std::int64_t share,
                  std::int64_t& once) {
    time_point const begin = world_.transport().now();
    std::size_t const message_length = memory.size() / train;
    auto const turn = [&] {
      return std::array{
          time({probe::kind::train, group, world_.rank(), 1, action::copy}, memory.first(message_length)),
          time({probe::kind::train, group, world_.rank(), train, action::copy}, memory),
          time({probe::kind::trade, group, world_.rank(), 1, action::copy}, memory.first(2 * message_length))};
    };
    for (int i = 0; i < 2; ++i) {  // the second turn counts
      time_point const start = world_.transport().now();
      (void)turn();
      once = time_since(start);
    }
    agree_(std::span(&once, 1));  // ranks decide alike because they use only agreed times
    auto const turns =
        static_cast<int>(std::clamp<std::int64_t>(share / std::max<std::int64_t>(once, 1), least_turns, most_turns));
    std::array<std::array<std::int64_t, most_turns>, 3> took{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(turns); ++i) {
      auto const now = turn();
      for (std::size_t k = 0; k < 3; ++k) {
        took[k][i] = now[k];
      }
    }
    for (auto& series : took) {
      std::nth_element(series.begin(), series.begin() + turns / quantile, series.begin() + turns);
    }
    auto const middle = static_cast<std::size_t>(turns / quantile);
    std::int64_t t[5] = {took[0][middle], took[1][middle], took[2][middle], sends_ ? took[1][middle] : 0,
                         time_since(begin)};
    agree_(std::span(t));
    return {message_length * sizeof(float), t[0], t[1], t[2], t[3], t[4]};
  }

  std::int64_t time(probe const& schedule, std::span<float> memory) {
    broadcast run{world_, schedule};
    std::int64_t ready[1] = {0};
    std::fill(memory.begin(), memory.end(), 1.0F);
    agree_(std::span(ready));
    access::state(world_).wait_policy = {};  // resets the backoff, as if each rank had a core
    time_point const begin = world_.transport().now();
    run(memory, 0);
    return time_since(begin);
  }

  /// The time since `begin` in picoseconds.
  [[nodiscard]] std::int64_t time_since(time_point begin) const {
    return (world_.transport().now() - begin).count() * 1000;
  }

  Communicator& world_;
  allreduce<Communicator, doubling, max<std::int64_t>> agree_;
  bool sends_ = false;  ///< trains leave from this rank
};

}  // namespace tutti::detail::tuning
