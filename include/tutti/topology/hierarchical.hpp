// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/grouping.hpp>
#include <tutti/detail/topology/tree.hpp>
#include <tutti/extend/host_map.hpp>

#include <array>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0 {

/// Two topologies in one schedule: `Inner` among the ranks of each host, and `Outer` among the leaders of the hosts,
/// one rank of each host. Only leaders send messages between hosts.
///
///     tutti::allreduce sum{world, tutti::hierarchical{tutti::binary_tree{}, tutti::ring{}, world.hosts()},
///                          tutti::sum<float>{}};
///
/// Allreduce has three stages: a reduce to the leader on each host, an allreduce among the leaders, and a broadcast
/// from the leader on each host. Reduce has the first two stages, broadcast the last two, and the root leads its host.
/// Hosts may have different numbers of ranks. Only Outer may use aggregators: Inner would need one for each host.
///
/// Offers: allreduce, reduce and broadcast, if Outer offers the same, and Inner the reduce and broadcast that it takes.
/// Rank order: kept if both keep it, and the ranks of a host follow each other.
/// Cost: with h hosts, allreduce takes Inner's reduce on a host, Outer's allreduce among h ranks and Inner's broadcast,
/// one after the other, or overlapped in several segments. Between hosts it sends what Outer sends among h ranks: with
/// the ring 2 (h - 1) / h S per host, in 2 (h - 1) messages. The alternative lets each of the p ranks of a host reduce
/// a p-th of the vector between hosts. It sends as many bytes in p times as many messages over p times as many
/// connections. It divides the combining among p ranks, which pays only if the network outpaces one rank.
/// Source: Karonis and others, "Exploiting hierarchy in parallel computer networks to optimize collective operation
/// performance", IPDPS 2000.
///
/// @throws precondition_error if the host map is that of another world
template <identifiable Inner, identifiable Outer, detail::grouping Groups = detail::consecutive>
class hierarchical {
  static constexpr auto full_name = [] {
    constexpr std::string_view parts[] = {"hierarchical<", Inner::name, ", ", Outer::name, ">"};
    std::array<char, parts[0].size() + parts[1].size() + parts[2].size() + parts[3].size() + parts[4].size()> text{};
    std::size_t at = 0;
    for (std::string_view const part : parts) {
      at += part.copy(text.data() + at, part.size());
    }
    return text;
  }();

  /// True if Inner uses no aggregators.
  static constexpr bool inner_is_alone = std::same_as<detail::ranks_alone_t<op::reduce, Inner>, Inner> &&
                                         std::same_as<detail::ranks_alone_t<op::broadcast, Inner>, Inner>;

  // The stages of an operation.
  template <class Op>
  static constexpr bool reduces = std::same_as<Op, op::allreduce> || std::same_as<Op, op::reduce>;
  template <class Op>
  static constexpr bool broadcasts = std::same_as<Op, op::allreduce> || std::same_as<Op, op::broadcast>;
  template <class Op>
  static constexpr bool possible =
      inner_is_alone && (reduces<Op> || broadcasts<Op>)&&offers<Outer, Op> &&
      (!reduces<Op> || offers<Inner, op::reduce>)&&(!broadcasts<Op> || offers<Inner, op::broadcast>);

 public:
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name{full_name.data(), full_name.size()};
  /// True if every operation combines in rank order, as reductions that do not commute need.
  static constexpr bool keeps_rank_order = Inner::keeps_rank_order && Outer::keeps_rank_order && Groups::in_rank_order;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;

  /// Runs Inner among the ranks of each group, and Outer among the leaders of the groups.
  constexpr hierarchical(Inner inner, Outer outer, Groups groups) : inner_(inner), outer_(outer), groups_(groups) {
    if constexpr (inner_is_alone) {
      inner_ = detail::ranks_alone<op::broadcast>(detail::ranks_alone<op::reduce>(inner));
    }
  }
  /// Takes hosts of `ranks_per_host` consecutive ranks each; the last host may have fewer.
  constexpr hierarchical(Inner inner, Outer outer, rank_type ranks_per_host)
    requires std::same_as<Groups, detail::consecutive>
      : hierarchical(inner, outer, detail::consecutive(ranks_per_host)) {}
  /// Takes the hosts of a world, `world.hosts()`. @pre the map outlives this object
  constexpr hierarchical(Inner inner, Outer outer, host_map const& hosts)
    requires std::same_as<Groups, detail::by_host>
      : hierarchical(inner, outer, detail::by_host(hosts)) {}

  /// A hash of the groups and of both topologies, and a label: "hosts of 4", "hosts 1f3a9c".
  /// @throws precondition_error if the host map is that of another world
  [[nodiscard]] constexpr topology_settings settings(rank_type n) const {
    topology_settings s;
    const rank_type groups = groups_.groups(n);
    s.identity = groups;
    for (rank_type r = 0; r < n; ++r) {
      s.identity = (s.identity ^ groups_.group(n, r)) * 16777619U;
    }
    groups_.label(s.identity, s.label);
    auto const add_part = [&](auto const& part, rank_type size) {
      if constexpr (has_settings<std::remove_cvref_t<decltype(part)>>) {
        s.identity = (s.identity ^ part.settings(size).identity) * 16777619U;
      }
    };
    add_part(outer_, groups);
    for (rank_type group = 0; group < groups; ++group) {
      add_part(inner_, groups_.size(n, group));
    }
    return s;
  }

  /// The number of blocks of the vector: the least common multiple of those of all stages.
  template <class Op>
    requires possible<Op>
  [[nodiscard]] constexpr std::uint32_t blocks(Op const& o, rank_type n) const {
    const rank_type hosts = groups_.groups(n);
    std::uint64_t total = outer_.blocks(outer_operation(o, n), hosts);
    groups_.for_each_size(n, [&](rank_type size) {
      total = reduces<Op> ? common_multiple(total, inner_blocks<op::reduce>(size)) : total;
      total = broadcasts<Op> ? common_multiple(total, inner_blocks<op::broadcast>(size)) : total;
      expects(total <= UINT32_MAX, "hierarchical: hosts of these sizes cut the vector into ", total,
              " blocks, more than 2^32; choose an inner "
              "topology that does not cut it, such as binary_tree");
    });
    return static_cast<std::uint32_t>(total);
  }

  /// The number of aggregators that the operation needs beside n ranks.
  template <class Op>
    requires possible<Op> && has_aggregators<Outer, Op>
  [[nodiscard]] constexpr rank_type aggregators(Op const& o, rank_type n) const {
    const rank_type hosts = groups_.groups(n);
    return hosts > 1 ? outer_.aggregators(outer_operation(o, n), hosts) : 0;
  }
  /// The topology to run where no transport, or no device, can do what an aggregator is asked for.
  [[nodiscard]] constexpr auto without_aggregators() const
    requires requires(Outer const& o) { o.without_aggregators(); }
  {
    return tutti::hierarchical<Inner, decltype(outer_.without_aggregators()), Groups>(
        inner_, outer_.without_aggregators(), groups_);
  }

  /// The number of steps of rank me.
  template <class Op>
    requires possible<Op>
  [[nodiscard]] constexpr std::uint32_t steps(Op const& o, rank_type n, rank_type me) const {
    if (me >= n) {
      const rank_type hosts = groups_.groups(n);
      return outer_.steps(outer_operation(o, n), hosts, hosts + (me - n));
    }
    stages<Op> const s(*this, o, n, me);
    return n == 1 ? (reduces<Op> ? 1 : 0) : s.steps_up + s.steps_outer + s.steps_down;
  }

  /// Step i of rank me, of n ranks, in closed form.
  template <class Op>
    requires possible<Op>
  [[nodiscard]] constexpr step at(Op const& o, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return detail::copy_own_block(0);
    }
    if (me >= n) {
      return outer_step(o, n, me, groups_.groups(n) + (me - n), i);
    }
    stages<Op> const s(*this, o, n, me);
    auto const member = [&](rank_type local) { return groups_.member(n, s.host, local); };
    if constexpr (reduces<Op>) {
      if (i < s.steps_up) {
        // A host's sum is the result only if there is one host.
        auto const memory = [&](rank_type, tutti::memory m) {
          return m == memory::output && s.hosts > 1 ? memory::work : m;
        };
        const op::reduce stage{s.leader};
        return embed(inner_.at(stage, s.size, s.local, i), me, inner_.blocks(stage, s.size), blocks(o, n), member,
                     memory);
      }
      i -= s.steps_up;
    }
    if (i < s.steps_outer) {
      return outer_step(o, n, me, s.host, i);
    }
    if constexpr (broadcasts<Op>) {
      // The leader sends its output, or its input if it is the root.
      auto const memory = [&](rank_type r, tutti::memory m) { return m == memory::input ? source(o, r) : m; };
      const op::broadcast stage{s.leader};
      return embed(inner_.at(stage, s.size, s.local, i - s.steps_outer), me, inner_.blocks(stage, s.size), blocks(o, n),
                   member, memory);
    }
    return {};
  }

 private:
  /// The place of a rank in an operation, and the number of its steps in each stage.
  template <class Op>
  struct stages {
    constexpr stages(hierarchical const& h, Op const& o, rank_type n, rank_type me)
        : hosts(h.groups_.groups(n)),
          host(h.groups_.group(n, me)),
          size(h.groups_.size(n, host)),
          local(h.groups_.local(n, me)),
          leader(h.leader_of(o, n, host)) {
      if constexpr (reduces<Op>) {
        steps_up = size > 1 ? h.inner_.steps(op::reduce{leader}, size, local) : 0;
      }
      steps_outer = hosts > 1 && local == leader ? h.outer_.steps(h.outer_operation(o, n), hosts, host) : 0;
      if constexpr (broadcasts<Op>) {
        steps_down = size > 1 ? h.inner_.steps(op::broadcast{leader}, size, local) : 0;
      }
    }

    rank_type hosts;
    rank_type host;
    rank_type size;   ///< the number of ranks on the host
    rank_type local;  ///< the number of this rank on the host
    rank_type leader;
    std::uint32_t steps_up = 0;
    std::uint32_t steps_outer = 0;
    std::uint32_t steps_down = 0;
  };

  /// The least common multiple. (std::lcm would need <numeric>.)
  [[nodiscard]] static constexpr std::uint64_t common_multiple(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t divisor = a;
    for (std::uint64_t rest = b; rest != 0;) {
      divisor = std::exchange(rest, divisor % rest);
    }
    return a / divisor * b;
  }

  template <class Op>
  [[nodiscard]] constexpr std::uint32_t inner_blocks(rank_type size) const {
    if constexpr (offers<Inner, Op>) {
      return size == 1 ? 1 : inner_.blocks(Op{0}, size);
    } else {
      return 1;
    }
  }

  /// The leader of a host, as its number on the host: the root if it is there, otherwise 0.
  template <class Op>
  [[nodiscard]] constexpr rank_type leader_of(Op const& o, rank_type n, rank_type host) const {
    if constexpr (requires { o.root; }) {
      return groups_.group(n, o.root) == host ? groups_.local(n, o.root) : 0;
    } else {
      return 0;
    }
  }

  /// The operation that Outer runs: its root is the host of the root.
  template <class Op>
  [[nodiscard]] constexpr Op outer_operation(Op const& o, rank_type n) const {
    if constexpr (requires { o.root; }) {
      return Op{groups_.group(n, o.root)};
    } else {
      return o;
    }
  }

  /// Step i of the stage among hosts, for rank `me`: the leader of host `place`, or an aggregator (`place` >= hosts).
  template <class Op>
  [[nodiscard]] constexpr step outer_step(Op const& o, rank_type n, rank_type me, rank_type place,
                                          std::uint32_t i) const {
    auto const outer = outer_operation(o, n);
    const rank_type hosts = groups_.groups(n);
    auto const member = [&](rank_type host) {
      return host < hosts ? groups_.member(n, host, leader_of(o, n, host)) : n + (host - hosts);
    };
    // A host of several ranks contributes an accumulator, which is in `work`.
    auto const memory = [&](rank_type r, tutti::memory m) {
      bool const is_accumulator = reduces<Op> && r < n && groups_.size(n, groups_.group(n, r)) > 1;
      return is_accumulator && m == memory::input ? memory::work : m;
    };
    return embed(outer_.at(outer, hosts, place, i), me, outer_.blocks(outer, hosts), blocks(o, n), member, memory);
  }

  /// The memory from which a leader broadcasts to its host.
  template <class Op>
  [[nodiscard]] static constexpr memory source(Op const& o, rank_type leader) {
    if constexpr (requires { o.root; }) {
      return leader == o.root ? memory::input : memory::output;
    } else {
      return memory::output;
    }
  }

  /// Translates a step of one stage to a step of the operation: its peers, memories and blocks.
  template <class RankOf, class MemoryOf>
  [[nodiscard]] static constexpr step embed(step s, rank_type me, std::uint32_t parts, std::uint32_t blocks,
                                            RankOf rank_of, MemoryOf memory_of) {
    auto const place = [&](endpoint& e) {
      e.peer = e.peer == no_rank ? no_rank : rank_of(e.peer);
      e.memory = memory_of(me, e.memory);
      e.blocks = {e.blocks.first * (blocks / parts), e.blocks.count * (blocks / parts)};
    };
    place(s.send);
    place(s.receive);
    s.local_memory = memory_of(me, s.local_memory);
    s.sender_memory = s.receives() ? memory_of(s.receive.peer, s.sender_memory) : s.sender_memory;
    return s;
  }

  [[no_unique_address]] Inner inner_;
  [[no_unique_address]] Outer outer_;
  Groups groups_;
};

namespace detail {

/// Makes a missing argument for the hosts the first error of the compiler.
template <class Inner>
struct missing_hosts {
  static_assert(!identifiable<Inner>,
                "hierarchical takes (inner, outer, hosts): the hosts are a number of ranks each, or world.hosts()");
  using type = consecutive;
};

}  // namespace detail

template <class Inner, class Outer>
hierarchical(Inner, Outer) -> hierarchical<Inner, Outer, typename detail::missing_hosts<Inner>::type>;
template <class Inner, class Outer, std::integral Count>
hierarchical(Inner, Outer, Count) -> hierarchical<Inner, Outer, detail::consecutive>;
template <class Inner, class Outer>
hierarchical(Inner, Outer, host_map const&) -> hierarchical<Inner, Outer, detail::by_host>;

}  // namespace tutti
