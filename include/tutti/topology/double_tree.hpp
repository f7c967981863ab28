// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/topology/tree.hpp>

#include <array>
#include <bit>

namespace tutti {

/// Two binary trees over the same ranks, such that a rank that has children in one is a leaf of the other.
///
/// Of m ranks, K = floor(m / 2) have children in tree 0 and as many in tree 1. Each tree is a heap: the
/// parent of place s is place (s - 1) / 2, places below K have children, and the others are leaves. The
/// rank that is inner number k of one tree is leaf number k of the other. Where m is odd, one rank is a
/// leaf of both: it takes the place that is left.
///
/// The edge above place s has colour s mod 2 in tree 0, and the other one in tree 1. Leaves start at an
/// even place. So the two edges by which a rank receives from its children differ in colour, and so do
/// the two by which it sends to its parents: all edges of one colour can be busy at once.
///
/// An operation's root, if it has one, is in neither tree, but above both.
class two_trees {
 public:
  /// @pre root < n, or no_rank for trees over all n ranks
  constexpr two_trees(rank_type n, rank_type root) noexcept
      : n_(n), root_(root), inner_((root == no_rank ? n : n - 1) / 2), odd_((root == no_rank ? n : n - 1) % 2 == 1) {}

  /// The end of an edge in tree `tree`: above place `place`. One end is the rank there, the other its parent.
  struct edge_above {
    std::uint32_t tree;
    std::uint32_t place;
  };

  [[nodiscard]] constexpr rank_type root() const noexcept { return root_; }
  /// The place of a rank that is not the root.
  [[nodiscard]] constexpr std::uint32_t place(std::uint32_t tree, rank_type me) const noexcept {
    const std::uint32_t p = position(me);
    return p == 2 * inner_ ? left_over() : p % 2 == tree ? p / 2 : first_leaf() + p / 2;
  }
  [[nodiscard]] constexpr bool is_leaf(std::uint32_t place) const noexcept { return place >= inner_; }
  /// Who is there; no_rank if nobody is.
  [[nodiscard]] constexpr rank_type at(edge_above e) const noexcept {
    if (e.place < inner_) {
      return rank(2 * e.place + e.tree);
    }
    if (e.place == left_over()) {
      return odd_ ? rank(2 * inner_) : no_rank;
    }
    return e.place > 2 * inner_ ? no_rank : rank(2 * (e.place - first_leaf()) + 1 - e.tree);
  }
  /// Who is above; no_rank if nobody is.
  [[nodiscard]] constexpr rank_type parent(edge_above e) const noexcept {
    return e.place == 0 ? root_ : at({e.tree, (e.place - 1) / 2});
  }

  /// When the edge passes its message on the way up, if leaves start at 0 and all edges of one colour are
  /// busy at once: after those below it. Backwards, it is the time on the way down.
  [[nodiscard]] constexpr std::uint32_t time(edge_above e) const noexcept {
    const std::uint32_t colour = (e.place + e.tree) % 2;
    return is_leaf(e.place) ? colour : 2 * (depth(2 * inner_) - depth(e.place)) + colour;
  }
  /// Whether the parent takes this edge's message before its other child's, or after it.
  [[nodiscard]] constexpr bool is_first(edge_above e) const noexcept {
    return at(sibling(e)) == no_rank || time(e) < time(sibling(e));
  }
  [[nodiscard]] constexpr bool is_last(edge_above e) const noexcept {
    return at(sibling(e)) == no_rank || time(e) > time(sibling(e));
  }

 private:
  /// The other edge below the same parent; nobody's place above the root of the tree.
  [[nodiscard]] static constexpr edge_above sibling(edge_above e) noexcept {
    return {e.tree, e.place == 0 ? UINT32_MAX : e.place % 2 == 1 ? e.place + 1 : e.place - 1};
  }
  [[nodiscard]] static constexpr std::uint32_t depth(std::uint32_t place) noexcept {
    return static_cast<std::uint32_t>(std::bit_width(place + 1));
  }
  /// Leaves fill K of the K + 1 places K, ..., 2 K, from the first even one on.
  [[nodiscard]] constexpr std::uint32_t first_leaf() const noexcept { return inner_ + inner_ % 2; }
  [[nodiscard]] constexpr std::uint32_t left_over() const noexcept { return inner_ % 2 == 1 ? inner_ : 2 * inner_; }

  // Ranks are counted from the one after the root.
  [[nodiscard]] constexpr rank_type first() const noexcept { return root_ == no_rank ? 0 : root_ + 1; }
  [[nodiscard]] constexpr std::uint32_t position(rank_type me) const noexcept {
    return me >= first() ? me - first() : me + n_ - first();
  }
  [[nodiscard]] constexpr rank_type rank(std::uint32_t position) const noexcept {
    return position < n_ - first() ? first() + position : first() + position - n_;
  }

  rank_type n_;
  rank_type root_;
  std::uint32_t inner_;
  bool odd_;
};

/// Two complementary trees, each of which carries one half of the vector (Sanders, Speck and Traff,
/// "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009): as few rounds as a
/// binary tree, and in segments the bandwidth of a ring, because every rank works for two children in one
/// half of the vector only.
///
/// Steps follow the trees' colours: the halves' messages of one colour travel together, so a rank that
/// receives from a child in one tree sends to its parent in the other one meanwhile.
///
/// Rank order is not kept.
///
/// Cost: the busiest rank sends S and receives S, in allreduce twice that, whatever n is: in many segments
/// reduce and broadcast take S G, allreduce 2 S G, and the depth of the trees only at their ends. As one
/// segment allreduce takes (2 log2 n + 2) (L + S / 2 G) for n = 2^k, in general 2 floor(log2 n) + 2
/// messages one after the other; reduce and broadcast floor(log2 (n - 1)) + 2.
struct double_tree {
  static constexpr std::string_view name = "double_tree";
  static constexpr bool keeps_order = false;
  static constexpr bool sends_raw_contributions = false;

  [[nodiscard]] constexpr std::uint32_t blocks(op::allreduce, rank_type n) const { return n == 1 ? 1 : 2; }
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type n, rank_type me) const {
    return n == 1 ? 1 : 2 * rounds(two_trees(n, no_rank), me).count();
  }
  [[nodiscard]] constexpr step at(op::allreduce, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return keep_own(0);
    }
    const two_trees trees(n, no_rank);
    const rounds mine(trees, me);
    const std::uint32_t up = mine.count();
    return i < up ? rise(trees, mine, me, i) : sink(trees, mine, me, 2 * up - 1 - i);
  }

  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce, rank_type n) const { return n == 1 ? 1 : 2; }
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce o, rank_type n, rank_type me) const {
    return n == 1 ? 1 : rounds(two_trees(n, o.root), me).count();
  }
  [[nodiscard]] constexpr step at(op::reduce o, rank_type n, rank_type me, std::uint32_t i) const {
    const two_trees trees(n, o.root);
    return n == 1 ? keep_own(0) : rise(trees, rounds(trees, me), me, i);
  }

  [[nodiscard]] constexpr std::uint32_t blocks(op::broadcast, rank_type n) const { return n == 1 ? 1 : 2; }
  [[nodiscard]] constexpr std::uint32_t steps(op::broadcast o, rank_type n, rank_type me) const {
    return n == 1 ? 0 : rounds(two_trees(n, o.root), me).count();
  }
  [[nodiscard]] constexpr step at(op::broadcast o, rank_type n, rank_type me, std::uint32_t i) const {
    const two_trees trees(n, o.root);
    const rounds mine(trees, me);
    return sink(trees, mine, me, mine.count() - 1 - i);
  }

 private:
  using edge_above = two_trees::edge_above;

  /// The messages of one rank on the way up, in the order of their times: at most two to parents and two
  /// from children, of which one each can fall into one round.
  class rounds {
   public:
    constexpr rounds(two_trees const& trees, rank_type me) {
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
    constexpr void add(two_trees const& trees, edge_above e, bool up) {
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
  [[nodiscard]] static constexpr space held(two_trees const& trees, edge_above e) {
    return trees.is_leaf(e.place) ? space::input : space::work;
  }

  /// Round i of the way up.
  [[nodiscard]] static constexpr step rise(two_trees const& trees, rounds const& mine, rank_type me, std::uint32_t i) {
    step s;
    mine.at(i, [&](auto const& m) {
      const block_range half{m.edge.tree, 1};
      if (m.up) {
        s.send = {trees.parent(m.edge), held(trees, m.edge), half};
        return;
      }
      const rank_type child = trees.at(m.edge);
      bool const top = trees.root() == no_rank ? (m.edge.place - 1) / 2 == 0 : me == trees.root();
      s.receive = {child, top && trees.is_last(m.edge) ? space::output : space::work, half};
      s.how = child < me ? action::fold_left : action::fold_right;
      s.local = trees.is_first(m.edge) ? space::input : space::work;
      s.arrives = held(trees, m.edge);
    });
    return s;
  }

  /// The same round on the way down: everything is turned round. The root sends what it was given, if
  /// the operation has a root.
  [[nodiscard]] static constexpr step sink(two_trees const& trees, rounds const& mine, rank_type me, std::uint32_t i) {
    auto const source = [&](rank_type r) { return r == trees.root() ? space::input : space::output; };
    step s;
    mine.at(i, [&](auto const& m) {
      const block_range half{m.edge.tree, 1};
      if (m.up) {
        const rank_type parent = trees.parent(m.edge);
        s.receive = {parent, space::output, half};
        s.arrives = source(parent);
      } else {
        s.send = {trees.at(m.edge), source(me), half};
      }
    });
    return s;
  }
};

}  // namespace tutti
