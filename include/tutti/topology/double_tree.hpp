// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/tree.hpp>
#include <tutti/detail/topology/two_trees.hpp>

#include <array>

namespace tutti::inline v0_1_0 {

/// Two complementary trees, each of which carries one half of the vector: as few rounds as a binary tree, and in
/// segments the bandwidth of a ring, because every rank works for two children in one half of the vector only.
///
/// Steps follow the trees' colours: the halves' messages of one colour travel together, so a rank that
/// receives from a child in one tree sends to its parent in the other one meanwhile.
///
/// Offers: allreduce, reduce, broadcast.
/// Order: not kept.
/// Cost: the busiest rank sends S and receives S, in allreduce twice that, whatever n is: S G and 2 S G is
/// what many segments come close to, for the depth of the trees counts only at their ends. As one segment
/// allreduce takes (2 log2 n + 2) (L + S / 2 G) for n = 2^k, in general 2 floor(log2 n) + 2 messages one
/// after the other; reduce and broadcast floor(log2 (n - 1)) + 2.
/// Source: Sanders, Speck and Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
/// Computing 35 (2009).
struct double_tree {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "double_tree";
  /// True if reductions combine in rank order in every operation, as those that do not commute need.
  static constexpr bool keeps_order = false;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;

  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allreduce, rank_type n) const { return n == 1 ? 1 : 2; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type n, rank_type me) const {
    return n == 1 ? 1 : 2 * rounds(detail::two_trees(n, no_rank), me).count();
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::allreduce, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return detail::keep_own(0);
    }
    const detail::two_trees trees(n, no_rank);
    const rounds mine(trees, me);
    const std::uint32_t up = mine.count();
    return i < up ? rise(trees, mine, me, i) : sink(trees, mine, me, 2 * up - 1 - i);
  }

  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce, rank_type n) const { return n == 1 ? 1 : 2; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce o, rank_type n, rank_type me) const {
    return n == 1 ? 1 : rounds(detail::two_trees(n, o.root), me).count();
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::reduce o, rank_type n, rank_type me, std::uint32_t i) const {
    const detail::two_trees trees(n, o.root);
    return n == 1 ? detail::keep_own(0) : rise(trees, rounds(trees, me), me, i);
  }

  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::broadcast, rank_type n) const { return n == 1 ? 1 : 2; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::broadcast o, rank_type n, rank_type me) const {
    return n == 1 ? 0 : rounds(detail::two_trees(n, o.root), me).count();
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::broadcast o, rank_type n, rank_type me, std::uint32_t i) const {
    const detail::two_trees trees(n, o.root);
    const rounds mine(trees, me);
    return sink(trees, mine, me, mine.count() - 1 - i);
  }

 private:
  using edge_above = detail::two_trees::edge_above;

  /// The messages of one rank on the way up, in the order of their times: at most two to parents and two
  /// from children, of which one each can fall into one round.
  class rounds {
   public:
    constexpr rounds(detail::two_trees const& trees, rank_type me) {
      for (std::uint32_t tree = 0; tree < 2; ++tree) {
        if (me == trees.root()) {
          add(trees, {tree, 0}, false);
          continue;
        }
        const std::uint32_t place = trees.place(tree, me);
        add(trees, {tree, place}, true);
        if (!trees.is_leaf(place)) {
          add(trees, {tree, 2 * place + 1}, false);
          add(trees, {tree, 2 * place + 2}, false);
        }
      }
    }

    struct message {
      edge_above edge;
      std::uint32_t time;
      bool up;  ///< to my parent, not from my child
    };

    [[nodiscard]] constexpr std::uint32_t count() const noexcept {
      std::uint32_t distinct = 0;
      for (std::uint32_t i = 0; i < size_; ++i) {
        distinct += i == 0 || all_[i].time != all_[i - 1].time ? 1U : 0U;
      }
      return distinct;
    }

    /// Calls f(message) for those of round i.
    template <class F>
    constexpr void at(std::uint32_t i, F f) const {
      std::uint32_t round = 0;
      for (std::uint32_t k = 0; k < size_; ++k) {
        round += k != 0 && all_[k].time != all_[k - 1].time ? 1U : 0U;
        if (round == i) {
          f(all_[k]);
        }
      }
    }

   private:
    constexpr void add(detail::two_trees const& trees, edge_above e, bool up) {
      if (trees.at(e) == no_rank || trees.parent(e) == no_rank) {
        return;
      }
      message const m{e, trees.time(e), up};
      std::uint32_t to = size_++;
      for (; to > 0 && all_[to - 1].time > m.time; --to) {
        all_[to] = all_[to - 1];
      }
      all_[to] = m;
    }

    std::array<message, 4> all_{};
    std::uint32_t size_ = 0;
  };

  /// What a place sends up: its own contribution, or what its children have added to it.
  [[nodiscard]] static constexpr memory held(detail::two_trees const& trees, edge_above e) {
    return trees.is_leaf(e.place) ? memory::input : memory::work;
  }

  /// Round i of the way up.
  [[nodiscard]] static constexpr step rise(detail::two_trees const& trees, rounds const& mine, rank_type me,
                                           std::uint32_t i) {
    step s;
    mine.at(i, [&](auto const& m) {
      const block_range half{m.edge.tree, 1};
      if (m.up) {
        s.send = {trees.parent(m.edge), held(trees, m.edge), half};
        return;
      }
      const rank_type child = trees.at(m.edge);
      bool const top = trees.root() == no_rank ? (m.edge.place - 1) / 2 == 0 : me == trees.root();
      s.receive = {child, top && trees.is_last(m.edge) ? memory::output : memory::work, half};
      s.how = child < me ? action::fold_left : action::fold_right;
      s.local = trees.is_first(m.edge) ? memory::input : memory::work;
      s.arrives = held(trees, m.edge);
    });
    return s;
  }

  /// The same round on the way down: everything is turned round. The root sends what it was given, if
  /// the operation has a root.
  [[nodiscard]] static constexpr step sink(detail::two_trees const& trees, rounds const& mine, rank_type me,
                                           std::uint32_t i) {
    auto const source = [&](rank_type r) { return r == trees.root() ? memory::input : memory::output; };
    step s;
    mine.at(i, [&](auto const& m) {
      const block_range half{m.edge.tree, 1};
      if (m.up) {
        const rank_type parent = trees.parent(m.edge);
        s.receive = {parent, memory::output, half};
        s.arrives = source(parent);
      } else {
        s.send = {trees.at(m.edge), source(me), half};
      }
    });
    return s;
  }
};

}  // namespace tutti
