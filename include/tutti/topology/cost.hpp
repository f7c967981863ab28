// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/table.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/extend/topology.hpp>

#include <vector>

namespace tutti::inline v0_1_0 {

/// The cost of a schedule for a vector of a given number of elements. The work of aggregators is not counted, as they
/// are in the network.
struct cost {
  std::uint64_t rounds = 0;    ///< finishing time, if a message takes 1 and a rank sends and receives one at a time
  std::uint64_t depth = 0;     ///< messages in the longest chain in which each message waits for its predecessor
  std::uint64_t messages = 0;  ///< messages sent, total of all ranks
  std::uint64_t traffic = 0;   ///< elements sent, total of all ranks

  std::uint64_t messages_sent = 0;      ///< messages sent by one rank, maximum
  std::uint64_t elements_sent = 0;      ///< elements sent by one rank, maximum
  std::uint64_t elements_received = 0;  ///< elements received by one rank, maximum
  std::uint64_t elements_combined = 0;  ///< elements combined by one rank, maximum
  std::uint32_t scratch = 0;  ///< blocks of `work` of one rank, maximum: memory, if accumulators are no elements

  friend constexpr bool operator==(cost const&, cost const&) = default;
};

namespace detail {

/// The number of elements in a range of blocks of a vector of `count` elements. `begins`: the begins of the blocks, and
/// the end of the last; null: they are equal.
[[nodiscard]] constexpr std::size_t elements_in(std::size_t count, std::uint32_t blocks, block_range range,
                                                std::size_t const* begins = nullptr) {
  auto const begin = [=](std::uint32_t b) { return begins != nullptr ? begins[b] : block_begin(count, blocks, b); };
  const std::uint32_t end = range.first + range.count;
  return end <= blocks ? begin(end) - begin(range.first) : count - begin(range.first) + begin(end - blocks);
}

/// The time at which the last rank finishes, in the LogGP model (Alexandrov and others, 1995) with o = 0.
///
/// A message of b bytes that is sent at t keeps the sender's interface busy until t + b G, begins to arrive at t + L
/// and keeps the receiver's interface busy for another b G. Without contention it has arrived at t + L + b G. Each
/// interface handles one message at a time, in the order of the schedule. The send and the receive of a step begin when
/// the receive of the previous step ends; no step waits for a send.
///
/// An aggregator has a port for each member. It is cut-through: it forwards the beginning of a message as soon as it
/// has the first packet of every contribution. A packet keeps a port busy for `packet`.
/// @pre the schedule is correct (`verify`)
template <class Topology, class Op, class Gap>
[[nodiscard]] constexpr std::uint64_t finishing_time(Topology const& topology, Op const& op, rank_type n,
                                                     std::uint64_t latency, Gap gap, std::uint64_t packet) {
  struct message {
    rank_type sender;
    std::uint64_t arrival;
    std::uint64_t busy;
  };
  struct port {
    std::uint64_t out_free = 0;
    std::uint64_t in_free = 0;
  };
  struct state {
    std::uint32_t at = 0;
    std::uint32_t steps = 0;
    bool has_sent = false;
    std::uint64_t now = 0;
    port link{};
    std::vector<port> ports{};  // one for each member, if this is an aggregator
    std::vector<message> inbox{};
  };
  const rank_type member_count = members(topology, op, n);
  std::vector<state> ranks(member_count);
  std::vector<rank_type> awake;
  auto const advance = [&](rank_type r) {
    state& me = ranks[r];
    if (me.at == me.steps) {
      return false;
    }
    bool const is_aggregator = r >= n;
    auto const port_to = [&](rank_type peer) -> port& { return is_aggregator ? me.ports[peer] : me.link; };
    const step s = topology.at(op, n, r, me.at);
    if (s.sends() && !me.has_sent) {
      const std::uint64_t busy = gap(s.send.blocks);
      std::uint64_t& free = port_to(s.send.peer).out_free;
      const std::uint64_t start = me.now < free ? free : me.now;
      free = start + busy;
      ranks[s.send.peer].inbox.push_back({r, start + latency, busy});
      awake.push_back(s.send.peer);
      me.has_sent = true;
    }
    if (s.receives()) {
      auto m = me.inbox.begin();
      while (m != me.inbox.end() && m->sender != s.receive.peer) {
        ++m;
      }
      if (m == me.inbox.end()) {
        return false;
      }
      std::uint64_t& free = port_to(s.receive.peer).in_free;
      const std::uint64_t begins = m->arrival < free ? free : m->arrival;
      free = begins + m->busy;
      const std::uint64_t arrival = is_aggregator && packet < m->busy ? begins + packet : free;
      me.now = me.now < arrival ? arrival : me.now;
      me.inbox.erase(m);
    }
    me.has_sent = false;
    ++me.at;
    return true;
  };
  for (rank_type r = 0; r < member_count; ++r) {
    ranks[r].steps = topology.steps(op, n, r);
    if (r >= n) {
      ranks[r].ports.resize(member_count);
    }
    awake.push_back(r);
  }
  while (!awake.empty()) {
    const rank_type r = awake.back();
    awake.pop_back();
    while (advance(r)) {
    }
  }
  std::uint64_t end = 0;
  for (state const& r : ranks) {
    end = end < r.now ? r.now : end;
  }
  return end;
}

/// The cost of a schedule; `begins` as for `elements_in`.
template <class Topology, class Op>
[[nodiscard]] constexpr cost cost_of(Topology const& topology, Op const& op, rank_type n, std::size_t count,
                                     std::size_t const* begins) {
  const std::uint32_t blocks = topology.blocks(op, n);
  auto const raise = [](auto& maximum, auto value) { maximum = maximum < value ? value : maximum; };
  cost total;
  for (rank_type r = 0; r < n; ++r) {
    cost rank_cost;
    table<bool> const written_blocks(blocks);
    for (std::uint32_t i = 0; i < topology.steps(op, n, r); ++i) {
      const step s = topology.at(op, n, r, i);
      if (s.sends()) {
        ++rank_cost.messages;
        rank_cost.elements_sent += elements_in(count, blocks, s.send.blocks, begins);
      }
      if (s.receives()) {
        rank_cost.elements_received += elements_in(count, blocks, s.receive.blocks, begins);
        rank_cost.elements_combined +=
            s.action == action::copy ? 0 : elements_in(count, blocks, s.receive.blocks, begins);
      }
      if ((s.receives() || !s.sends()) && s.receive.memory == memory::work) {
        for (std::uint32_t k = 0; k < s.receive.blocks.count; ++k) {
          const std::uint32_t b = (s.receive.blocks.first + k) % blocks;
          rank_cost.scratch += written_blocks.at[b] ? 0U : 1U;
          written_blocks.at[b] = true;
        }
      }
    }
    total.messages += rank_cost.messages;
    total.traffic += rank_cost.elements_sent;
    raise(total.messages_sent, rank_cost.messages);
    raise(total.elements_sent, rank_cost.elements_sent);
    raise(total.elements_received, rank_cost.elements_received);
    raise(total.elements_combined, rank_cost.elements_combined);
    raise(total.scratch, rank_cost.scratch);
  }
  total.rounds = finishing_time(
      topology, op, n, 0, [](block_range) { return std::uint64_t{1}; }, 1);
  total.depth = finishing_time(
      topology, op, n, 1, [](block_range) { return std::uint64_t{0}; }, 0);
  return total;
}

/// The price of a schedule in the LogGP model; `begins` as for `elements_in`.
template <class Topology, class Op>
[[nodiscard]] constexpr std::uint64_t price(Topology const& topology, Op const& op, rank_type n, std::size_t bytes,
                                            std::uint64_t latency, std::uint64_t gap, std::size_t const* begins) {
  const std::uint32_t blocks = topology.blocks(op, n);
  return finishing_time(
      topology, op, n, latency, [=](block_range range) { return gap * elements_in(bytes, blocks, range, begins); },
      gap * aggregator_packet_bytes);
}

}  // namespace detail

/// Counts the rounds, messages, elements and memory of a schedule at run time or compile time. `count` is the number of
/// elements of the whole vector: of all n blocks, where blocks belong to ranks.
template <class Topology, class Op>
  requires offers<Topology, Op>
[[nodiscard]] constexpr cost cost_of(Topology const& topology, Op const& op, rank_type n, std::size_t count) {
  return detail::cost_of(topology, op, n, count, nullptr);
}
/// Counts them for the blocks of a partition, which has as many as there are ranks.
template <class Topology, class Op>
  requires offers<Topology, Op> && takes_partition<Op>
[[nodiscard]] cost cost_of(Topology const& topology, Op const& op, partition const& blocks) {
  return detail::cost_of(topology, op, blocks.size(), blocks.count(), blocks.begins().data());
}

/// The time at which the last rank finishes a vector of `bytes` bytes, if a message of b bytes takes latency + b * gap
/// (see detail::finishing_time). Combining costs nothing. Times are integers of any unit, so the result is exact.
template <class Topology, class Op>
  requires offers<Topology, Op>
[[nodiscard]] constexpr std::uint64_t price(Topology const& topology, Op const& op, rank_type n, std::size_t bytes,
                                            std::uint64_t latency, std::uint64_t gap) {
  return detail::price(topology, op, n, bytes, latency, gap, nullptr);
}
/// The time for blocks of these lengths in bytes.
template <class Topology, class Op>
  requires offers<Topology, Op> && takes_partition<Op>
[[nodiscard]] std::uint64_t price(Topology const& topology, Op const& op, partition const& bytes, std::uint64_t latency,
                                  std::uint64_t gap) {
  return detail::price(topology, op, bytes.size(), bytes.count(), latency, gap, bytes.begins().data());
}

}  // namespace tutti
