// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allocator.hpp>
#include <tutti/detail/tuning/aggregator_meter.hpp>
#include <tutti/detail/tuning/copy_probe.hpp>
#include <tutti/detail/tuning/probe.hpp>
#include <tutti/detail/tuning/profile.hpp>
#include <tutti/detail/tuning/stopwatch.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// Measures the costs of messages in a world, by real messages of the engine between all neighbours at once.
///
/// At each of several sizes: (1) all ranks send to the next and receive from the previous one, copying or combining
/// (sums of float), into other memory or over the block that they send; (2) they lend each other blocks that are
/// combined and returned, all at a time and every second rank; (3) one message goes round. Processors move the bytes
/// (through memory; TCP within a host) if sending and receiving takes longer than only sending, or if, within a host,
/// a rank that only sends is busy most of the time; then the times of sending and receiving add up. Otherwise a wire
/// moves them. The lower quartile of several times counts, on the slowest rank.
///
/// Within a host, messages that are only moved are measured too: copy_probe. If the transport provides memory,
/// everything within a host is measured again in 2 MiB of it, which later buffers of the world get, unless an
/// allocation fails on some rank. If the transport has in-network aggregators, whole allreduces through one are timed.
template <class Communicator>
class world_meter {
 public:
  explicit world_meter(Communicator& world) : world_(world), clock_(world) {}

  /// Takes about `total`, in equal parts for messages within hosts, between hosts, and through an in-network
  /// aggregator. Within a host, up to a quarter is spent until transports through memory have settled; half of the
  /// rest is for memory that the transport provides, if it does.
  /// Collective; all ranks get the same profile.
  /// @throws error
  [[nodiscard]] network_profile measure(duration total) {
    auto const& hosts = world_.hosts();
    network_profile p{.ranks = world_.size(), .hosts = hosts.hosts()};
    std::vector<rank_type> speakers;
    std::size_t largest_host = 0;
    for (rank_type h = 0; h < hosts.hosts(); ++h) {
      speakers.push_back(hosts.members(h).front());
      largest_host = (std::max)(largest_host, hosts.members(h).size());
    }
    auto const& neighbours = hosts.members(hosts.host(world_.rank()));
    bool const has_aggregators =
        aggregator_meter<Communicator>::sums && has_aggregator(world_.transport()) && world_.size() > 1;
    auto const budget = total / (std::max)((largest_host > 1) + (speakers.size() > 1) + has_aggregators, 1);
    if (largest_host > 1) {
      auto buffer = provided_memory();
      auto link_budget = budget;
      if constexpr (copies_aside) {
        link_budget -= settle(neighbours, 480, budget / 4);
      }
      link_budget /= buffer.empty() ? 1 : 2;
      p.within_host = measure_link(neighbours, place::within_a_host, {}, link_budget, p.start);
      if (!buffer.empty()) {
        p.allocator = measure_link(neighbours, place::within_a_host, buffer, link_budget, p.start);
      }
    }
    if (speakers.size() > 1) {
      p.between_hosts = measure_link(speakers, place::between_hosts, {}, budget, p.start);
    }
    if (has_aggregators) {
      p.aggregator = aggregator_meter(world_, clock_).measure(p.within_host, budget);
    }
    return p;
  }

 private:
  static constexpr std::size_t longest_provided = 1024 << 10;
  static constexpr std::size_t long_from = 16 << 10;
  /// Messages of `always_measured` bytes in a row, to see the sustained rate of a link.
  static constexpr std::uint32_t in_a_row = 4;
  static constexpr std::int64_t wire_from = 92;  ///< percent; a processor that only sends takes a half or two thirds
  /// Beyond this size, a block is copied aside first because peers read it in place, at the same price per byte.
  static constexpr std::size_t longest_swap = 256 << 10;
  static constexpr bool copies_aside = shares_memory<typename Communicator::transport_type>;
  /// Longer messages fill the system's socket buffers, so a step that overwrites its sent block copies it first.
  static constexpr std::size_t longest_taken_whole = 1024 << 10;
  static constexpr bool fills_buffers = !copies_aside && !computes<typename Communicator::transport_type>;
  static constexpr bool lending = lends<typename Communicator::transport_type>;

  /// Picoseconds per message of one size.
  struct times {
    std::size_t bytes;
    std::int64_t shift;  ///< sends one message and receives one
    std::int64_t combining_shift;
    std::int64_t combining_swap;
    std::int64_t loan;   ///< lends or returns one block, all ranks at once
    std::int64_t solo;   ///< lends or returns one block, every second rank
    std::int64_t relay;  ///< from one rank to the next
    std::int64_t total;  ///< time of measuring this size
  };

  /// The shortest message: its processor time and its latency.
  struct short_message {
    std::int64_t gap;
    std::int64_t latency;
    /// The time of a message without the latency.
    [[nodiscard]] std::int64_t rest(std::int64_t takes) const {
      return std::max<std::int64_t>({takes - latency, 2 * gap, 1});
    }
  };
  /// The result of `try_wire`.
  struct wire {
    bool moves_bytes = false;
    std::int64_t lasting = 0;  ///< sustained time of `always_measured` bytes, if an idle link lets bursts pass; else 0
  };
  enum class place { within_a_host, between_hosts };

  /// Buffers of the transport to measure in, on all ranks; empty on all if an allocation fails on one.
  std::vector<float, allocator<float>> provided_memory() {
    std::vector<float, allocator<float>> buffer{allocator<float>(world_)};
    if constexpr (provides_memory<typename Communicator::transport_type>) {
      std::int64_t lacking[1] = {0};
      try {
        buffer.resize(longest_provided / 2);  // two blocks
      } catch (std::bad_alloc const&) {
        lacking[0] = 1;
      }
      clock_.agree(std::span(lacking));
      buffer.resize(lacking[0] == 0 ? buffer.size() : 0);
    }
    return buffer;
  }

  /// Two blocks of `bytes` bytes for a probe, in the given memory or their own.
  struct blocks {
    blocks(std::span<float> buffer, std::size_t bytes)
        : storage(buffer.empty() ? bytes / 2 : 0),
          memory(buffer.empty() ? std::span(storage) : buffer.first(bytes / 2)) {}
    std::vector<float> storage;
    std::span<float> memory;
  };

  /// Measures a link in the memory `buffer`, or in ordinary memory if there is none.
  network_profile::link measure_link(std::vector<rank_type> const& group, place location, std::span<float> buffer,
                                     duration budget, std::int64_t& start) {
    std::size_t const longest = buffer.empty() ? measured_sizes.back() : longest_provided;
    std::vector<times> measurements;
    bool const is_within = location == place::within_a_host;
    std::int64_t const move_budget = is_within ? budget.count() * 1000 / (copies_aside ? 8 : 4) : 0;
    std::int64_t const limit = budget.count() * 1000 - move_budget;
    // Ranks decide alike because they use only agreed times. The first turns are slow.
    std::int64_t total = time_size(group, buffer, measured_sizes.front(), 8, 4, 8).total;
    std::int64_t once = total / 9;  // the time of one turn of the previous size
    for (std::size_t const bytes : measured_sizes) {
      auto const growth = static_cast<std::int64_t>(bytes <= 2048 ? 1 : bytes / measurements.back().bytes);
      std::int64_t const expected = std::max<std::int64_t>(once * growth, 1);
      if (bytes > longest || (bytes > always_measured && total + 2 * expected > limit)) {
        break;
      }
      std::int64_t const share = (limit - total) / (bytes >= always_measured ? 3 : 12);
      auto const turns =
          static_cast<int>(std::clamp<std::int64_t>(share / expected, 2, stopwatch<Communicator>::most_turns));
      bool const brief = bytes < always_measured && expected < limit / 16;
      measurements.push_back(time_size(group, buffer, bytes, brief ? 8U : 2U, brief ? 4U : 1U, turns));
      if (bytes > longest_swap) {
        measurements.back().combining_swap = copies_aside
                                                 ? growth * measurements[measurements.size() - 2].combining_swap
                                                 : measurements.back().combining_shift;
      }
      total += measurements.back().total;
      once = measurements.back().total / (turns + 1);
    }
    // Combining takes no less time than storing, and a short message no more than a long one: where it seems so, the
    // measurement was disturbed. The first long messages over a connection are slow because its window still grows.
    if constexpr (!copies_aside) {
      for (times& t : measurements) {
        t.shift = (std::min)(t.shift, t.combining_shift);
      }
    }
    for (std::size_t i = measurements.size() - 1; i-- > 0;) {
      measurements[i].shift = (std::min)(measurements[i].shift, measurements[i + 1].shift);
      measurements[i].combining_shift =
          (std::min)(measurements[i].combining_shift, measurements[i + 1].combining_shift);
      measurements[i].combining_swap = (std::min)(measurements[i].combining_swap, measurements[i + 1].combining_swap);
      measurements[i].loan = (std::min)(measurements[i].loan, measurements[i + 1].loan);
      measurements[i].solo = (std::min)(measurements[i].solo, measurements[i + 1].solo);
      measurements[i].relay = (std::min)(measurements[i].relay, measurements[i + 1].relay);
    }
    auto const long_enough = std::find_if(measurements.begin(), measurements.end(),
                                          [](times const& t) { return t.bytes == always_measured; });
    wire w = try_wire(location, group, *long_enough, measurements.front().relay, limit);
    std::int64_t const gap = (std::min)(time_gap(group), measurements.front().relay / 2);
    start = (std::max)(start, time_start(group, measurements.front().shift));
    short_message const least{gap, measurements.front().relay - 2 * gap};
    if (!is_within) {
      return solve(measurements, least, w, {});
    }
    blocks const b(buffer, copy_probe<Communicator>::memory_bytes / 2);
    std::int64_t left = move_budget;
    if constexpr (copies_aside) {
      left -= settle(group, 144, budget / 32).count() * 1000;  // once through the ring of chunks at its default size
    }
    copy_prices move_prices = copy_probe(world_).measure(group, least.latency, left, b.memory);
    if (move_prices.by_processors) {
      w.moves_bytes = false;
    }
    if (w.moves_bytes) {  // a system sends combined and moved messages alike
      move_prices.sizes.clear();
    }
    return solve(measurements, least, w, std::move(move_prices.sizes));
  }

  [[nodiscard]] static std::int64_t lasts(std::int64_t always_time, std::size_t bytes) {
    return always_time / static_cast<std::int64_t>(always_measured) * static_cast<std::int64_t>(bytes);
  }
  /// The transmission time that an idle link saves up: a message that goes round finds it idle and is faster by that.
  static std::int64_t burst(std::vector<times> const& measurements, short_message const& least, std::int64_t lasting) {
    std::int64_t maximum = 0;
    for (times const& t : measurements) {
      std::int64_t const whole = lasts(lasting, t.bytes);
      std::int64_t const saving = whole - least.rest(t.relay);
      maximum = t.bytes >= always_measured && saving > whole / 4 ? (std::max)(maximum, saving) : maximum;
    }
    return maximum;
  }

  /// True if peers work on lent blocks in place: loans then take less time than other messages. The transport alone
  /// does not tell; it depends on the memory, too.
  static bool sees_loans(std::vector<times> const& measurements, short_message const& least) {
    std::int64_t saving = 0;  // percent, summed over the long messages
    for (times const& t : measurements) {
      saving +=
          t.bytes >= long_from ? 75 - std::min<std::int64_t>(least.rest(t.loan) * 100 / least.rest(t.shift), 150) : 0;
    }
    return lending && saving > 0;
  }

  /// Determines whether a wire moves the bytes, never if a peer reads them in the sender's memory. All ranks send and
  /// receive, and then every second one only sends. A wire carries both directions at once; a processor finishes
  /// sooner if it need not do both. Long messages in a row are used for this: a link that has been idle may let a burst
  /// pass at once (token bucket), and a link that is used by turns always does. So for a wire, a message that goes
  /// round takes as long as one of those, or at most half of that; values between mean a processor.
  /// @pre messages of `always_measured` bytes, or longer ones, have just passed
  wire try_wire(place location, std::vector<rank_type> const& group, times const& always_takes, std::int64_t latency,
                std::int64_t limit) {
    if (copies_aside && location == place::within_a_host) {
      return {};
    }
    auto const turns = static_cast<int>(
        std::clamp<std::int64_t>(limit / (8 * in_a_row * std::max<std::int64_t>(always_takes.shift, 1)), 1, 8));
    std::vector<float> memory(always_measured / 2);
    std::int64_t t[2] = {
        clock_.time({probe::kind::shift, group, world_.rank(), in_a_row, action::copy}, memory, turns, turns / 2) /
            in_a_row,
        // An answer is as long as a message, but a link that was idle may let it pass at once.
        (clock_.time({probe::kind::flood, group, world_.rank(), 2 * in_a_row, action::copy}, memory, turns, 0) -
         latency) /
            (2 * in_a_row)};
    clock_.agree(std::span(t));
    std::int64_t const exchange_time = std::max<std::int64_t>(t[0] - latency, 1);
    std::int64_t const relay_time = std::max<std::int64_t>(always_takes.relay - latency, 1);
    bool const alike = (always_takes.shift - latency) * 100 < relay_time * 125;
    bool const saves_up = exchange_time * 100 > relay_time * 175;
    return {t[1] * 100 >= exchange_time * wire_from && (alike || saves_up), saves_up ? exchange_time : 0};
  }

  /// Attributes the measured times to processors or to the wire.
  static network_profile::link solve(std::vector<times> const& measurements, short_message const& least, wire const& w,
                                     std::vector<network_profile::move> moves) {
    network_profile::link link{.latency = least.latency, .moves = std::move(moves)};
    link.burst = w.moves_bytes && w.lasting != 0 ? burst(measurements, least, w.lasting) : 0;
    std::int64_t const gap = least.gap;
    bool const uses_loans = !w.moves_bytes && sees_loans(measurements, least);
    for (times const& t : measurements) {
      network_profile::point p{.bytes = t.bytes,
                               .combine = std::max<std::int64_t>(t.combining_shift - t.shift, 0),
                               .overwrite = t.combining_swap - t.combining_shift};
      std::int64_t const exchange_time = least.rest(t.shift);
      std::int64_t const relay_time = least.rest(t.relay);
      if (w.moves_bytes) {
        p.send = gap;
        p.lead = gap;
        p.receive = gap;
        p.wire = link.burst != 0 ? lasts(w.lasting, t.bytes) : (std::min)(exchange_time, relay_time) - 2 * gap;
      } else {
        p.receive = (std::max)(exchange_time - exchange_time / 2,
                               copies_aside ? 0 : pace(link, t.bytes, (std::min)(exchange_time, relay_time)));
        p.send = exchange_time - p.receive;
        p.lead = std::clamp<std::int64_t>(relay_time - p.receive, 0, p.send);
        p.loan = uses_loans ? std::max<std::int64_t>(t.loan - link.latency, 1) : 0;
        p.solo = uses_loans ? std::clamp<std::int64_t>(t.solo - link.latency, 1, p.loan) : 0;
      }
      link.points.push_back(p);
    }
    add_longer_points(link);
    if (!copies_aside && !link.moves.empty()) {
      add_longer_moves(link);
    }
    return link;
  }

  /// The interval at which messages follow each other. Where processors move the bytes, one end takes that long for
  /// each, and the other end the rest. That this end is the receiver fits measurements of all schedules over TCP.
  static std::int64_t pace(network_profile::link const& link, std::size_t bytes, std::int64_t limit) {
    return link.moves.empty() ? 0 : (std::min)(move_at_size(link, bytes).receive, limit);
  }

  /// Adds long messages, which a system moves at the same price as combined ones.
  static void add_longer_moves(network_profile::link& link) {
    for (network_profile::point const& p : link.points) {
      if (p.bytes > link.moves.back().bytes) {
        link.moves.push_back({.bytes = p.bytes, .send = p.send, .lead = p.lead, .delay = 0, .receive = p.receive});
      }
    }
  }

  /// Adds sizes beyond the measured ones on the last line: a cache that is too small adds as much to every schedule
  /// for a vector. A step that overwrites its sent block copies it first where peers read long messages in the
  /// sender's memory, and where they fill the system's socket buffers.
  static void add_longer_points(network_profile::link& link) {
    network_profile::link const original = link;
    std::size_t const last = original.points.back().bytes;
    if constexpr (fills_buffers) {
      for (std::size_t bytes = 2 * last; bytes <= (std::max)(4 * last, 4 * longest_taken_whole); bytes *= 2) {
        link.points.push_back(at_size(original, bytes));
      }
      for (network_profile::point& p : link.points) {
        p = p.bytes > longest_taken_whole ? copied_first(p) : p;
      }
    } else {
      network_profile::point const next = at_size(original, 4 * last);
      link.points.push_back(copies_aside ? copied_first(next) : next);
    }
  }

  /// Adds to `p` the price of a copy, which takes about as long as the message, for steps that overwrite their sent
  /// block.
  [[nodiscard]] static network_profile::point copied_first(network_profile::point p) {
    p.overwrite = (std::max)(p.overwrite, p.send + p.receive);
    return p;
  }

  times time_size(std::vector<rank_type> const& group, std::span<float> buffer, std::size_t bytes, std::uint32_t shifts,
                  std::uint32_t rounds, int turns) {
    blocks const b(buffer, bytes);
    auto const hops = static_cast<std::int64_t>(rounds * std::max<std::size_t>(group.size(), 1));
    auto const begin = world_.transport().now();
    auto const time_probe = [&](probe::kind kind, std::uint32_t repeats, tutti::action action, int warming) {
      return clock_.time({kind, group, world_.rank(), repeats, action}, b.memory, turns, warming);
    };
    std::int64_t t[7] = {time_probe(probe::kind::shift, shifts, action::copy, 1) / shifts,
                         time_probe(probe::kind::shift, shifts, action::fold_right, 1) / shifts,
                         0,
                         lending ? time_probe(probe::kind::loan, 2 * shifts, action::fold_right, 1) / (4 * shifts) : 0,
                         lending ? time_probe(probe::kind::solo, shifts, action::fold_right, 1) / (2 * shifts) : 0,
                         time_probe(probe::kind::relay, rounds, action::copy, 1) / hops,
                         0};
    if (bytes <= longest_swap) {  // each lane has its own memory to copy to
      t[2] = time_probe(probe::kind::swap, shifts, action::fold_right, collective_lanes) / shifts;
    }
    t[6] = clock_.time_since(begin);
    clock_.agree(std::span(t));
    return {bytes, t[0], t[1], t[2], t[3], t[4], t[5], t[6]};
  }

  /// Sends `messages` messages so that transports use the memory that they copy through and choose a copy strategy
  /// (detail/shared_memory/copy_strategy.hpp); otherwise a probe would be timed partly before and partly after. Memory
  /// that long messages have evicted from the caches also costs more during the first lap. Returns the time taken, not
  /// much more than `at_most`.
  duration settle(std::vector<rank_type> const& group, std::uint32_t messages, duration limit) {
    constexpr std::uint32_t at_once = 48;
    std::vector<float> memory((16 << 10) / 2);
    auto const begin = world_.transport().now();
    std::int64_t total[1] = {0};
    for (std::uint32_t message_count = 0; message_count < messages && total[0] < limit.count();
         message_count += at_once) {
      (void)clock_.time({probe::kind::shift, group, world_.rank(), at_once, action::copy}, memory, 1, 0);
      total[0] = (world_.transport().now() - begin).count();
      clock_.agree(std::span(total));
    }
    return duration(total[0]);
  }

  /// The interval at which the shortest messages follow each other.
  std::int64_t time_gap(std::vector<rank_type> const& group) {
    std::array<float, 2> memory{};
    std::int64_t t[2] = {clock_.time({probe::kind::flood, group, world_.rank(), 8, action::copy}, memory, 8, 1),
                         clock_.time({probe::kind::flood, group, world_.rank(), 24, action::copy}, memory, 8, 1)};
    clock_.agree(std::span(t));
    return std::max<std::int64_t>(t[1] - t[0], 0) / 16;
  }

  /// The time of an operation beyond its messages.
  std::int64_t time_start(std::vector<rank_type> const& group, std::int64_t shift) {
    std::array<float, 2> memory{};
    std::int64_t t[1] = {clock_.time({probe::kind::shift, group, world_.rank(), 1, action::copy}, memory, 16, 1)};
    clock_.agree(std::span(t));
    return std::max<std::int64_t>(t[0] - shift, 0);
  }

  Communicator& world_;
  stopwatch<Communicator> clock_;
};

}  // namespace tutti::detail::tuning
