// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/grouping.hpp>
#include <tutti/detail/topology/tree.hpp>
#include <tutti/extend/host_map.hpp>

#include <array>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0 {

/// Two topologies in one schedule: `Inner` among the ranks of each host, `Outer` among the hosts, each of
/// which one rank speaks for. Between hosts there is one flow of messages.
///
///     tutti::allreduce sum{world, tutti::hierarchical{tutti::binary_tree{}, tutti::ring{}, world.hosts()},
///                          tutti::sum<float>{}};
///
/// Allreduce: every host reduces to its speaker, the speakers reduce among each other, every speaker tells
/// its host. A rooted operation leaves out what it does not need, and on the root's host the root speaks.
/// Hosts need not have equally many ranks. Helpers are Outer's: those of Inner would be one for each host.
///
/// Offers: allreduce, reduce and broadcast, if Outer offers the same, and Inner the reduce and broadcast that it takes.
/// Order: kept if both keep it, and the ranks of a host follow each other.
/// Cost: with h hosts, allreduce takes Inner's reduce on a host, Outer's allreduce among h ranks and
/// Inner's broadcast, one after the other, or in segments at the same time. Between hosts it sends what
/// Outer sends among h ranks: with the ring 2 (h - 1) / h S per host, in 2 (h - 1) messages. The other way
/// to do it is that each of a host's p ranks reduces a p-th of the vector between the hosts: p flows with
/// p times as many messages and connections, and in all as many bytes. It shares the combining among p
/// ranks, which a network is rarely fast enough to notice.
/// Source: Karonis and others, "Exploiting hierarchy in parallel computer networks to optimize collective operation
/// performance", IPDPS 2000.
///
/// @throws precondition_error if the hosts are those of another world
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

  /// Only the topology among hosts may have helpers.
  static constexpr bool inner_is_alone = std::same_as<detail::ranks_alone_t<op::reduce, Inner>, Inner> &&
                                         std::same_as<detail::ranks_alone_t<op::broadcast, Inner>, Inner>;

  /// What an operation consists of.
  template <class Op>
  static constexpr bool reduces = std::same_as<Op, op::allreduce> || std::same_as<Op, op::reduce>;
  template <class Op>
  static constexpr bool spreads = std::same_as<Op, op::allreduce> || std::same_as<Op, op::broadcast>;
  template <class Op>
  static constexpr bool possible =
      inner_is_alone && (reduces<Op> || spreads<Op>)&&offers<Outer, Op> &&
      (!reduces<Op> || offers<Inner, op::reduce>)&&(!spreads<Op> || offers<Inner, op::broadcast>);

 public:
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name{full_name.data(), full_name.size()};
  /// True if reductions combine in rank order in every operation, as those that do not commute need.
  static constexpr bool keeps_order = Inner::keeps_order && Outer::keeps_order && Groups::in_rank_order;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;

  /// Inner among the ranks of a group, Outer among the groups.
  constexpr hierarchical(Inner inner, Outer outer, Groups groups) : inner_(inner), outer_(outer), groups_(groups) {
    if constexpr (inner_is_alone) {
      inner_ = detail::ranks_alone<op::broadcast>(detail::ranks_alone<op::reduce>(inner));
    }
  }
  /// Hosts of this many consecutive ranks each; the last one may have fewer.
  constexpr hierarchical(Inner inner, Outer outer, rank_type ranks_per_host)
    requires std::same_as<Groups, detail::consecutive>
      : hierarchical(inner, outer, detail::consecutive(ranks_per_host)) {}
  /// The hosts of a world, as `world.hosts()` gives them. @pre the map outlives this
  constexpr hierarchical(Inner inner, Outer outer, host_map const& hosts)
    requires std::same_as<Groups, detail::by_host>
      : hierarchical(inner, outer, detail::by_host(hosts)) {}

  /// Which ranks are in one group, however that was said: "hosts of 4", "hosts 1f3a9c".
  /// @throws precondition_error if the hosts are those of another world
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

  /// The vector is cut so that the blocks of every stage are whole numbers of blocks.
  template <class Op>
    requires possible<Op>
  [[nodiscard]] constexpr std::uint32_t blocks(Op const& o, rank_type n) const {
    const rank_type hosts = groups_.groups(n);
    std::uint64_t all = outer_.blocks(among_hosts(o, n), hosts);
    groups_.each_size(n, [&](rank_type size) {
      all = reduces<Op> ? common_multiple(all, inner_blocks<op::reduce>(size)) : all;
      all = spreads<Op> ? common_multiple(all, inner_blocks<op::broadcast>(size)) : all;
      expects(all <= UINT32_MAX, "hierarchical: hosts of these sizes cut the vector into ", all,
              " blocks, more than 2^32; choose an inner "
              "topology that does not cut it, such as binary_tree");
    });
    return static_cast<std::uint32_t>(all);
  }

  /// The number of helpers that the operation needs beside n ranks.
  template <class Op>
    requires possible<Op> && has_helpers<Outer, Op>
  [[nodiscard]] constexpr rank_type helpers(Op const& o, rank_type n) const {
    const rank_type hosts = groups_.groups(n);
    return hosts > 1 ? outer_.helpers(among_hosts(o, n), hosts) : 0;
  }
  /// The topology to run where no transport, or no device, can do what a helper is asked for.
  [[nodiscard]] constexpr auto without_helpers() const
    requires requires(Outer const& o) { o.without_helpers(); }
  {
    return tutti::hierarchical<Inner, decltype(outer_.without_helpers()), Groups>(inner_, outer_.without_helpers(),
                                                                                  groups_);
  }

  /// The number of steps of rank me, of n ranks.
  template <class Op>
    requires possible<Op>
  [[nodiscard]] constexpr std::uint32_t steps(Op const& o, rank_type n, rank_type me) const {
    if (me >= n) {
      const rank_type hosts = groups_.groups(n);
      return outer_.steps(among_hosts(o, n), hosts, hosts + (me - n));
    }
    stages<Op> const s(*this, o, n, me);
    return n == 1 ? (reduces<Op> ? 1 : 0) : s.up + s.across + s.down;
  }

  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  template <class Op>
    requires possible<Op>
  [[nodiscard]] constexpr step at(Op const& o, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return detail::keep_own(0);
    }
    if (me >= n) {
      return among(o, n, me, groups_.groups(n) + (me - n), i);
    }
    stages<Op> const s(*this, o, n, me);
    auto const member = [&](rank_type local) { return groups_.member(n, s.host, local); };
    if constexpr (reduces<Op>) {
      if (i < s.up) {
        // What a host has is not yet the result, unless there is no other.
        auto const memory = [&](rank_type, tutti::memory m) {
          return m == memory::output && s.hosts > 1 ? memory::work : m;
        };
        const op::reduce to{s.speaker};
        return placed(inner_.at(to, s.size, s.local, i), me, inner_.blocks(to, s.size), blocks(o, n), member, memory);
      }
      i -= s.up;
    }
    if (i < s.across) {
      return among(o, n, me, s.host, i);
    }
    if constexpr (spreads<Op>) {
      // The speaker has the result, or is the root.
      auto const memory = [&](rank_type r, tutti::memory m) { return m == memory::input ? source(o, r) : m; };
      const op::broadcast from{s.speaker};
      return placed(inner_.at(from, s.size, s.local, i - s.across), me, inner_.blocks(from, s.size), blocks(o, n),
                    member, memory);
    }
    return {};
  }

 private:
  /// Where a rank stands in an operation, and how many steps it takes in each stage.
  template <class Op>
  struct stages {
    constexpr stages(hierarchical const& h, Op const& o, rank_type n, rank_type me)
        : hosts(h.groups_.groups(n)),
          host(h.groups_.group(n, me)),
          size(h.groups_.size(n, host)),
          local(h.groups_.local(n, me)),
          speaker(h.speaker_of(o, n, host)) {
      if constexpr (reduces<Op>) {
        up = size > 1 ? h.inner_.steps(op::reduce{speaker}, size, local) : 0;
      }
      across = hosts > 1 && local == speaker ? h.outer_.steps(h.among_hosts(o, n), hosts, host) : 0;
      if constexpr (spreads<Op>) {
        down = size > 1 ? h.inner_.steps(op::broadcast{speaker}, size, local) : 0;
      }
    }

    rank_type hosts;
    rank_type host;
    rank_type size;  ///< of the host
    rank_type local;
    rank_type speaker;
    std::uint32_t up = 0;
    std::uint32_t across = 0;
    std::uint32_t down = 0;
  };

  /// The least one. (std::lcm lives in a header of its own.)
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

  /// The rank that speaks for a host, by its number there.
  template <class Op>
  [[nodiscard]] constexpr rank_type speaker_of(Op const& o, rank_type n, rank_type host) const {
    if constexpr (requires { o.root; }) {
      return groups_.group(n, o.root) == host ? groups_.local(n, o.root) : 0;
    } else {
      return 0;
    }
  }

  /// The operation of the outer topology.
  template <class Op>
  [[nodiscard]] constexpr Op among_hosts(Op const& o, rank_type n) const {
    if constexpr (requires { o.root; }) {
      return Op{groups_.group(n, o.root)};
    } else {
      return o;
    }
  }

  /// Step i among the hosts: of speaker `me`, host `place`, or of a helper, whose place follows those of the hosts.
  template <class Op>
  [[nodiscard]] constexpr step among(Op const& o, rank_type n, rank_type me, rank_type place, std::uint32_t i) const {
    auto const outer = among_hosts(o, n);
    const rank_type hosts = groups_.groups(n);
    auto const member = [&](rank_type host) {
      return host < hosts ? groups_.member(n, host, speaker_of(o, n, host)) : n + (host - hosts);
    };
    // What a host contributes is what its ranks have added up.
    auto const memory = [&](rank_type r, tutti::memory m) {
      bool const added_up = reduces<Op> && r < n && groups_.size(n, groups_.group(n, r)) > 1;
      return added_up && m == memory::input ? memory::work : m;
    };
    return placed(outer_.at(outer, hosts, place, i), me, outer_.blocks(outer, hosts), blocks(o, n), member, memory);
  }

  /// Where a speaker has what it tells its host.
  template <class Op>
  [[nodiscard]] static constexpr memory source(Op const& o, rank_type speaker) {
    if constexpr (requires { o.root; }) {
      return speaker == o.root ? memory::input : memory::output;
    } else {
      return memory::output;
    }
  }

  /// A step of one stage as a step of the whole: its peers, its memories and its blocks.
  template <class RankOf, class MemoryOf>
  [[nodiscard]] static constexpr step placed(step s, rank_type me, std::uint32_t parts, std::uint32_t blocks,
                                             RankOf rank_of, MemoryOf memory_of) {
    auto const place = [&](endpoint& e) {
      e.peer = e.peer == no_rank ? no_rank : rank_of(e.peer);
      e.memory = memory_of(me, e.memory);
      e.blocks = {e.blocks.first * (blocks / parts), e.blocks.count * (blocks / parts)};
    };
    place(s.send);
    place(s.receive);
    s.local = memory_of(me, s.local);
    s.arrives = s.receives() ? memory_of(s.receive.peer, s.arrives) : s.arrives;
    return s;
  }

  [[no_unique_address]] Inner inner_;
  [[no_unique_address]] Outer outer_;
  Groups groups_;
};

namespace detail {

/// Stands for the hosts, if none are given: the compiler's first error says so.
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
