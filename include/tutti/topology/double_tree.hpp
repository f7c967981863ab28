// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/tree.hpp>
#include <tutti/detail/topology/two_trees.hpp>

#include <array>

namespace tutti::inline v0_1_0 {

/// Two complementary trees that carry one half of the vector each. The number of rounds is logarithmic. With
/// several segments it reaches the bandwidth of a ring, because every rank has children in one of the trees only.
///
/// Edges of the trees have two colours, and messages over edges of one colour travel in one step: a rank receives from
/// a child in one tree while it sends to its parent in the other tree.
///
/// Offers: allreduce, reduce, broadcast.
/// Rank order: not kept.
/// Cost: the busiest rank sends S and receives S, in allreduce 2 S each, for any n. Many segments approach S G, in
/// allreduce 2 S G, because the depth of the trees counts only for the first and the last segment. As one segment
/// allreduce takes (2 log2 n + 2) (L + S / 2 G) for n = 2^k, in general 2 floor(log2 n) + 2 messages one after the
/// other; reduce and broadcast floor(log2 (n - 1)) + 2.
/// Source: Sanders, Speck and Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
/// Computing 35 (2009).
struct double_tree {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "double_tree";
  /// True if every operation combines in rank order, as reductions that do not commute need.
  static constexpr bool keeps_rank_order = false;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allreduce, rank_type n) const { return n == 1 ? 1 : 2; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type n, rank_type me) const {
    return n == 1 ? 1 : 2 * rounds(detail::two_trees(n, no_rank), me).count();
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::allreduce, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return detail::copy_own_block(0);
    }
    const detail::two_trees trees(n, no_rank);
    const rounds schedule(trees, me);
    const std::uint32_t up = schedule.count();
    return i < up ? rise(trees, schedule, me, i) : sink(trees, schedule, me, 2 * up - 1 - i);
  }

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce, rank_type n) const { return n == 1 ? 1 : 2; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce o, rank_type n, rank_type me) const {
    return n == 1 ? 1 : rounds(detail::two_trees(n, o.root), me).count();
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::reduce o, rank_type n, rank_type me, std::uint32_t i) const {
    const detail::two_trees trees(n, o.root);
    return n == 1 ? detail::copy_own_block(0) : rise(trees, rounds(trees, me), me, i);
  }

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::broadcast, rank_type n) const { return n == 1 ? 1 : 2; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::broadcast o, rank_type n, rank_type me) const {
    return n == 1 ? 0 : rounds(detail::two_trees(n, o.root), me).count();
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::broadcast o, rank_type n, rank_type me, std::uint32_t i) const {
    const detail::two_trees trees(n, o.root);
    const rounds schedule(trees, me);
    return sink(trees, schedule, me, schedule.count() - 1 - i);
  }

 private:
  using edge_above = detail::two_trees::edge_above;

  /// The messages of one rank on the way up, in the order of their times: at most two to parents and two from children.
  /// A round has at most one message to a parent and one from a child.
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
      bool up;  ///< true if it goes to my parent, false if it comes from my child
    };

    [[nodiscard]] constexpr std::uint32_t count() const noexcept {
      std::uint32_t distinct = 0;
      for (std::uint32_t i = 0; i < size_; ++i) {
        distinct += i == 0 || messages_[i].time != messages_[i - 1].time ? 1U : 0U;
      }
      return distinct;
    }

    /// Calls f(message) for each message of round i.
    template <class F>
    constexpr void at(std::uint32_t i, F f) const {
      std::uint32_t round = 0;
      for (std::uint32_t k = 0; k < size_; ++k) {
        round += k != 0 && messages_[k].time != messages_[k - 1].time ? 1U : 0U;
        if (round == i) {
          f(messages_[k]);
        }
      }
    }

   private:
    constexpr void add(detail::two_trees const& trees, edge_above e, bool up) {
      if (trees.at(e) == no_rank || trees.parent(e) == no_rank) {
        return;
      }
      message const m{e, trees.time(e), up};
      std::uint32_t slot = size_++;
      for (; slot > 0 && messages_[slot - 1].time > m.time; --slot) {
        messages_[slot] = messages_[slot - 1];
      }
      messages_[slot] = m;
    }

    std::array<message, 4> messages_{};
    std::uint32_t size_ = 0;
  };

  /// The memory that a place sends up from: `input` if it has no children to add to its contribution.
  [[nodiscard]] static constexpr memory upward_source(detail::two_trees const& trees, edge_above e) {
    return trees.is_leaf(e.place) ? memory::input : memory::work;
  }

  /// The step of round i on the way up.
  [[nodiscard]] static constexpr step rise(detail::two_trees const& trees, rounds const& schedule, rank_type me,
                                           std::uint32_t i) {
    step s;
    schedule.at(i, [&](auto const& m) {
      const block_range half{m.edge.tree, 1};
      if (m.up) {
        s.send = {trees.parent(m.edge), upward_source(trees, m.edge), half};
        return;
      }
      const rank_type child = trees.at(m.edge);
      bool const top = trees.root() == no_rank ? (m.edge.place - 1) / 2 == 0 : me == trees.root();
      s.receive = {child, top && trees.is_last(m.edge) ? memory::output : memory::work, half};
      s.action = child < me ? action::fold_left : action::fold_right;
      s.local_memory = trees.is_first(m.edge) ? memory::input : memory::work;
      s.sender_memory = upward_source(trees, m.edge);
    });
    return s;
  }

  /// The step of round i on the way down, the reverse of `rise`. The root of the operation, if any, sends its input.
  [[nodiscard]] static constexpr step sink(detail::two_trees const& trees, rounds const& schedule, rank_type me,
                                           std::uint32_t i) {
    auto const source = [&](rank_type r) { return r == trees.root() ? memory::input : memory::output; };
    step s;
    schedule.at(i, [&](auto const& m) {
      const block_range half{m.edge.tree, 1};
      if (m.up) {
        const rank_type parent = trees.parent(m.edge);
        s.receive = {parent, memory::output, half};
        s.sender_memory = source(parent);
      } else {
        s.send = {trees.at(m.edge), source(me), half};
      }
    });
    return s;
  }
};

}  // namespace tutti
