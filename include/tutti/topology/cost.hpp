// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/table.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/topology.hpp>

#include <vector>

namespace tutti::inline v0_1_0 {

/// What a schedule costs for a vector of this many elements. "Busiest" is the largest of all ranks'. What helpers do is
/// not counted: they are in the network.
struct cost {
  std::uint64_t rounds = 0;    ///< time, if a message takes 1 and a rank sends one and receives one at a time
  std::uint64_t depth = 0;     ///< the longest chain of messages in which each waits for the one before
  std::uint64_t messages = 0;  ///< of all ranks
  std::uint64_t traffic = 0;   ///< elements sent, of all ranks

  std::uint64_t messages_sent = 0;  ///< by the busiest rank, and so on:
  std::uint64_t sent = 0;           ///< elements
  std::uint64_t received = 0;       ///< elements
  std::uint64_t combined = 0;       ///< elements that are combined with another
  std::uint32_t scratch = 0;        ///< blocks of work, which need memory where accumulators are no elements

  friend constexpr bool operator==(cost const&, cost const&) = default;
};

namespace detail {

/// How many elements a range of blocks has, of a vector of `count` elements.
[[nodiscard]] constexpr std::size_t elements_in(std::size_t count, std::uint32_t blocks, block_range range) {
  auto const begin = [=](std::uint32_t b) { return block_begin(count, blocks, b); };
  const std::uint32_t end = range.first + range.count;
  return end <= blocks ? begin(end) - begin(range.first) : count - begin(range.first) + begin(end - blocks);
}

}  // namespace detail

namespace detail {

/// When the last rank is done, in the LogGP model (Alexandrov and others, 1995) with o = 0.
///
/// A message of b bytes that is sent at t keeps the sender's interface busy until t + b G, begins to
/// arrive at t + L and keeps the receiver's interface busy for another b G: alone, it has arrived at
/// t + L + b G. Each interface deals with one message at a time, in the order of the schedule. A step's
/// send and receive both begin when the step before has received what it waits for; sends are not
/// waited for.
///
/// A helper has a port for each member, and hands on the beginning of a message as soon as its first packet, which
/// keeps a port busy for `packet`, is there from all (cut-through).
/// @pre the schedule is right
template <class Topology, class Op, class Gap>
[[nodiscard]] constexpr std::uint64_t finishing_time(Topology const& topology, Op const& op, rank_type n,
                                                     std::uint64_t latency, Gap gap, std::uint64_t packet) {
  struct message {
    rank_type from;
    std::uint64_t arrives;
    std::uint64_t busy;
  };
  struct port {
    std::uint64_t out_free = 0;
    std::uint64_t in_free = 0;
  };
  struct state {
    std::uint32_t at = 0;
    std::uint32_t steps = 0;
    bool sent = false;
    std::uint64_t now = 0;
    port own{};
    std::vector<port> ports{};  // of a helper, one for each member
    std::vector<message> inbox{};
  };
  const rank_type all = members(topology, op, n);
  std::vector<state> ranks(all);
  std::vector<rank_type> awake;
  auto const advance = [&](rank_type r) {
    state& me = ranks[r];
    if (me.at == me.steps) {
      return false;
    }
    bool const helps = r >= n;
    auto const port_to = [&](rank_type peer) -> port& { return helps ? me.ports[peer] : me.own; };
    const step s = topology.at(op, n, r, me.at);
    if (s.sends() && !me.sent) {
      const std::uint64_t busy = gap(s.send.blocks);
      std::uint64_t& free = port_to(s.send.peer).out_free;
      const std::uint64_t start = me.now < free ? free : me.now;
      free = start + busy;
      ranks[s.send.peer].inbox.push_back({r, start + latency, busy});
      awake.push_back(s.send.peer);
      me.sent = true;
    }
    if (s.receives()) {
      auto m = me.inbox.begin();
      while (m != me.inbox.end() && m->from != s.receive.peer) {
        ++m;
      }
      if (m == me.inbox.end()) {
        return false;
      }
      std::uint64_t& free = port_to(s.receive.peer).in_free;
      const std::uint64_t begins = m->arrives < free ? free : m->arrives;
      free = begins + m->busy;
      const std::uint64_t there = helps && packet < m->busy ? begins + packet : free;
      me.now = me.now < there ? there : me.now;
      me.inbox.erase(m);
    }
    me.sent = false;
    ++me.at;
    return true;
  };
  for (rank_type r = 0; r < all; ++r) {
    ranks[r].steps = topology.steps(op, n, r);
    if (r >= n) {
      ranks[r].ports.resize(all);
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

}  // namespace detail

/// Counts a schedule's rounds, messages, elements and memory, for a vector of `count` elements: the
/// whole of it, n blocks, where block r belongs to rank r. A constant expression.
template <class Topology, class Op>
  requires offers<Topology, Op>
[[nodiscard]] constexpr cost cost_of(Topology const& topology, Op const& op, rank_type n, std::size_t count) {
  const std::uint32_t blocks = topology.blocks(op, n);
  auto const raise = [](auto& most, auto value) { most = most < value ? value : most; };
  cost all;
  for (rank_type r = 0; r < n; ++r) {
    cost mine;
    const detail::table<bool> touched(blocks);
    for (std::uint32_t i = 0; i < topology.steps(op, n, r); ++i) {
      const step s = topology.at(op, n, r, i);
      if (s.sends()) {
        ++mine.messages;
        mine.sent += detail::elements_in(count, blocks, s.send.blocks);
      }
      if (s.receives()) {
        mine.received += detail::elements_in(count, blocks, s.receive.blocks);
        mine.combined += s.how == action::copy ? 0 : detail::elements_in(count, blocks, s.receive.blocks);
      }
      if ((s.receives() || !s.sends()) && s.receive.memory == memory::work) {
        for (std::uint32_t k = 0; k < s.receive.blocks.count; ++k) {
          const std::uint32_t b = (s.receive.blocks.first + k) % blocks;
          mine.scratch += touched.at[b] ? 0U : 1U;
          touched.at[b] = true;
        }
      }
    }
    all.messages += mine.messages;
    all.traffic += mine.sent;
    raise(all.messages_sent, mine.messages);
    raise(all.sent, mine.sent);
    raise(all.received, mine.received);
    raise(all.combined, mine.combined);
    raise(all.scratch, mine.scratch);
  }
  all.rounds = detail::finishing_time(
      topology, op, n, 0, [](block_range) { return std::uint64_t{1}; }, 1);
  all.depth = detail::finishing_time(
      topology, op, n, 1, [](block_range) { return std::uint64_t{0}; }, 0);
  return all;
}

/// When the last rank is done with a vector of this many bytes, if a message takes L + b G: the latency,
/// and the time a byte keeps a link busy (see detail::finishing_time). Combining costs nothing.
/// Integers, in any unit of time, so that it is exact.
template <class Topology, class Op>
  requires offers<Topology, Op>
[[nodiscard]] constexpr std::uint64_t price(Topology const& topology, Op const& op, rank_type n, std::size_t bytes,
                                            std::uint64_t latency, std::uint64_t gap) {
  const std::uint32_t blocks = topology.blocks(op, n);
  return detail::finishing_time(
      topology, op, n, latency, [=](block_range range) { return gap * detail::elements_in(bytes, blocks, range); },
      gap * helper_packet);
}

}  // namespace tutti
