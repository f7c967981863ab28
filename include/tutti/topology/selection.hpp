// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/host_map.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/chain.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

#include <array>
#include <type_traits>

namespace tutti::inline v0_1_0 {

/// A topology that is picked at run time.
enum class schedule_kind : std::uint8_t {
  direct,
  doubling,
  ring,
  butterfly,
  binary_tree,
  double_tree,
  chain,
  star,
  in_network,
  hosts_doubling,  ///< hierarchical: binary trees on the hosts, doubling among the hosts; the next two likewise
  hosts_ring,
  hosts_butterfly
};

/// The name of a schedule in messages and preferences.
[[nodiscard]] constexpr std::string_view name(schedule_kind kind) noexcept {
  constexpr std::string_view names[] = {"direct",      "doubling",       "ring",       "butterfly",
                                        "binary_tree", "double_tree",    "chain",      "star",
                                        "in_network",  "hosts_doubling", "hosts_ring", "hosts_butterfly"};
  return names[static_cast<std::size_t>(kind)];
}

/// All schedules.
inline constexpr std::array all_schedule_kinds{
    schedule_kind::direct,     schedule_kind::doubling,       schedule_kind::ring,
    schedule_kind::butterfly,  schedule_kind::binary_tree,    schedule_kind::double_tree,
    schedule_kind::chain,      schedule_kind::star,           schedule_kind::in_network,
    schedule_kind::hosts_ring, schedule_kind::hosts_doubling, schedule_kind::hosts_butterfly};

/// One of tutti's topologies, picked at run time. It is one type, which stores no schedule and allocates nothing; a
/// `plan` stores the steps of one rank. The pick is part of the call, so ranks that picked differently get an error.
///
/// Offers: all operations. An operation that the picked topology does not offer runs by `direct`, a scan or exscan by
/// `doubling`.
/// Rank order: that of the topology that runs; an operator refuses a reduction that does not commute if rank order is
/// not kept.
/// Cost: that of the topology that runs, and one jump for each call of `blocks`, `steps` or `at`.
/// Source: that of the picked topology.
class selection {
  /// The topology that runs an operation which the picked one does not offer.
  template <class Op>
  using substitute = std::conditional_t<offers<direct, Op>, direct, doubling>;

 public:
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "selection";
  static constexpr bool keeps_rank_order = false;  ///< false, because some schedules do not; see combines_in_rank_order
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;

  constexpr selection() noexcept = default;
  /// Picks a schedule. @pre the map outlives this object, if the schedule groups hosts
  constexpr explicit selection(schedule_kind kind, host_map const* hosts = nullptr) noexcept
      : kind_(kind), hosts_(hosts) {
    expects(hosts != nullptr || !groups_hosts(kind),
            "selection: a hierarchical schedule needs the map of the hosts; give the hosts() of the world");
  }

  /// The schedule that was picked.
  [[nodiscard]] constexpr schedule_kind kind() const noexcept { return kind_; }
  /// True for the schedule of ring.
  [[nodiscard]] constexpr bool forwards_each_block_once() const noexcept { return kind_ == schedule_kind::ring; }
  /// True if the schedule is hierarchical, so it needs the map of the hosts.
  [[nodiscard]] static constexpr bool groups_hosts(schedule_kind kind) noexcept {
    return kind >= schedule_kind::hosts_doubling;
  }

  /// Calls f(topology) with the topology that was picked.
  template <class F>
  constexpr decltype(auto) visit(F&& f) const {
    switch (kind_) {
      case schedule_kind::doubling:
        return f(doubling{});
      case schedule_kind::ring:
        return f(ring{});
      case schedule_kind::butterfly:
        return f(butterfly{});
      case schedule_kind::binary_tree:
        return f(binary_tree{});
      case schedule_kind::double_tree:
        return f(double_tree{});
      case schedule_kind::chain:
        return f(chain{});
      case schedule_kind::star:
        return f(star{});
      case schedule_kind::in_network:
        return f(in_network{});
      case schedule_kind::hosts_doubling:
        return f(hierarchical{binary_tree{}, doubling{}, *hosts_});
      case schedule_kind::hosts_ring:
        return f(hierarchical{binary_tree{}, ring{}, *hosts_});
      case schedule_kind::hosts_butterfly:
        return f(hierarchical{binary_tree{}, butterfly{}, *hosts_});
      case schedule_kind::direct:
        break;
    }
    return f(direct{});
  }

  /// The name of the topology that was picked: "ring", "hierarchical<binary_tree, ring>".
  [[nodiscard]] constexpr std::string_view topology_name() const {
    return visit([](auto const& t) { return std::string_view(t.name); });
  }
  /// True if the schedule of this operation combines in rank order.
  template <class Op>
    requires offers<substitute<Op>, Op>
  [[nodiscard]] constexpr bool combines_in_rank_order(rank_type n) const {
    return answer<Op>([n](auto const& t) { return tutti::combines_in_rank_order<Op>(t, n); });
  }
  /// A hash of the pick, and of the hosts if it groups hosts.
  [[nodiscard]] constexpr topology_settings settings(rank_type n) const {
    topology_settings s = visit([n](auto const& t) { return identity_of(t, n); });
    s.set_label(tutti::name(kind_));
    return s;
  }
  /// True if the topology that was picked offers the operation.
  template <class Op>
  [[nodiscard]] constexpr bool serves() const {
    return visit([]<class T>(T const&) { return offers<T, Op>; });
  }

  /// The topology to run where no transport, or no device, can do what an aggregator is asked for.
  [[nodiscard]] constexpr selection without_aggregators() const noexcept {
    return kind_ == schedule_kind::in_network ? selection(schedule_kind::star) : *this;
  }
  /// The number of aggregators that the operation needs beside n ranks.
  template <class Op>
    requires offers<in_network, Op>
  [[nodiscard]] constexpr rank_type aggregators(Op const& o, rank_type n) const {
    return answer<Op>([&](auto const& t) { return members(t, o, n) - n; });
  }

  /// The number of blocks of the vector.
  template <class Op>
    requires offers<substitute<Op>, Op>
  [[nodiscard]] constexpr std::uint32_t blocks(Op const& o, rank_type n) const {
    return answer<Op>([&](auto const& t) { return t.blocks(o, n); });
  }
  /// The number of steps of rank me.
  template <class Op>
    requires offers<substitute<Op>, Op>
  [[nodiscard]] constexpr std::uint32_t steps(Op const& o, rank_type n, rank_type me) const {
    return answer<Op>([&](auto const& t) { return t.steps(o, n, me); });
  }
  /// Step i of rank me, of n ranks, in closed form.
  template <class Op>
    requires offers<substitute<Op>, Op>
  [[nodiscard]] constexpr step at(Op const& o, rank_type n, rank_type me, std::uint32_t i) const {
    return answer<Op>([&](auto const& t) { return t.at(o, n, me, i); });
  }

 private:
  template <class Op, class F>
  constexpr auto answer(F const& f) const {
    return visit([&]<class T>(T const& t) {
      if constexpr (offers<T, Op>) {
        return f(t);
      } else {
        return f(substitute<Op>{});
      }
    });
  }

  schedule_kind kind_ = schedule_kind::direct;
  host_map const* hosts_ = nullptr;
};

/// A way to run an operation, and the time that it is expected to take.
struct prediction {
  schedule_choice<selection> way{};  ///< the schedule and the segments
  std::int64_t time = 0;             ///< in picoseconds
};

}  // namespace tutti
