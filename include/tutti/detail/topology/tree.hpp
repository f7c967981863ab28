// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/topology.hpp>

namespace tutti::inline v0_1_0::detail::inline topology {

/// A rooted tree over the ranks 0..n-1. Every subtree is an interval of ranks. Children come in the order in which they
/// are folded: the interval of each child touches the ranks that are already folded. So one description serves every
/// rooted operation, and rank order is kept.
template <class T>
concept rooted_tree =
    std::constructible_from<T, rank_type, rank_type> && requires(T const t, rank_type me, std::uint32_t i) {
      { T::centre(me) } -> std::same_as<rank_type>;       // the root in operations without one, given n
      { t.size() } -> std::same_as<rank_type>;            // the number of ranks
      { t.root() } -> std::same_as<rank_type>;            // the root
      { t.parent(me) } -> std::same_as<rank_type>;        // the parent of a rank that is not the root
      { t.children(me) } -> std::same_as<std::uint32_t>;  // the number of children
      { t.child(me, i) } -> std::same_as<rank_type>;      // child i, in the order of folding
      { t.subtree(me) } -> std::same_as<block_range>;     // the ranks of the subtree
    };

/// A local step that copies a block of this rank from one memory to another, by default from `input` to `output`: lone
/// ranks finish their contribution with it, and others keep their own block of a gather or scatter.
[[nodiscard]] constexpr step copy_own_block(std::uint32_t block, memory source = memory::input,
                                            memory target = memory::output) {
  return {{no_rank, source, {block, 1}}, {no_rank, target, {block, 1}}};
}

/// Reduce: a rank folds the accumulators of its children into its contribution, then sends the result to its parent.
template <rooted_tree Tree>
[[nodiscard]] constexpr std::uint32_t reduce_steps(Tree const& tree, rank_type me) {
  return tree.size() == 1 ? 1 : tree.children(me) + (me == tree.root() ? 0 : 1);
}

template <rooted_tree Tree>
[[nodiscard]] constexpr step reduce_step(Tree const& tree, rank_type me, std::uint32_t i) {
  constexpr block_range whole{0, 1};
  const std::uint32_t children = tree.children(me);
  if (tree.size() == 1) {
    return copy_own_block(0);
  }
  if (i == children) {
    return {.send = {tree.parent(me), children == 0 ? memory::input : memory::work, whole}};
  }
  const rank_type child = tree.child(me, i);
  bool const last = me == tree.root() && i + 1 == children;
  return {.receive = {child, last ? memory::output : memory::work, whole},
          .action = child < me ? action::fold_left : action::fold_right,
          .local_memory = i == 0 ? memory::input : memory::work,
          .sender_memory = tree.children(child) == 0 ? memory::input : memory::work};
}

/// Broadcast: a rank receives from its parent, then sends to its children, in the reverse order of folding because the
/// last child has the deepest subtree. The root sends from `source`.
template <rooted_tree Tree>
[[nodiscard]] constexpr std::uint32_t broadcast_steps(Tree const& tree, rank_type me) {
  return tree.children(me) + (me == tree.root() ? 0 : 1);
}

template <rooted_tree Tree>
[[nodiscard]] constexpr step broadcast_step(Tree const& tree, rank_type me, std::uint32_t i,
                                            memory source = memory::input) {
  constexpr block_range whole{0, 1};
  bool const root = me == tree.root();
  if (!root && i == 0) {
    const rank_type parent = tree.parent(me);
    return {.receive = {parent, memory::output, whole},
            .sender_memory = parent == tree.root() ? source : memory::output};
  }
  const rank_type child = tree.child(me, tree.children(me) - 1 - (root ? i : i - 1));
  return {.send = {child, root ? source : memory::output, whole}};
}

/// Allreduce: a reduce to the root, then a broadcast from it.
template <rooted_tree Tree>
[[nodiscard]] constexpr std::uint32_t allreduce_steps(Tree const& tree, rank_type me) {
  return reduce_steps(tree, me) + broadcast_steps(tree, me);
}

template <rooted_tree Tree>
[[nodiscard]] constexpr step allreduce_step(Tree const& tree, rank_type me, std::uint32_t i) {
  const std::uint32_t up = reduce_steps(tree, me);
  step s = i < up ? reduce_step(tree, me, i) : broadcast_step(tree, me, i - up, memory::output);
  if (s.sends()) {
    s.loan = i < up ? loan::lend : loan::give_back;
  }
  return s;
}

/// Gather: as reduce, but the blocks of a subtree are put side by side. A leaf sends its block from `input`; an inner
/// rank collects the blocks of its subtree in `work`.
template <rooted_tree Tree>
[[nodiscard]] constexpr std::uint32_t gather_steps(Tree const& tree, rank_type me) {
  const std::uint32_t children = tree.children(me);
  return me == tree.root() ? 1 + children : children == 0 ? 1 : children + 2;
}

template <rooted_tree Tree>
[[nodiscard]] constexpr step gather_step(Tree const& tree, rank_type me, std::uint32_t i) {
  bool const root = me == tree.root();
  const std::uint32_t children = tree.children(me);
  const memory collect = root ? memory::output : memory::work;
  if (!root && children == 0) {
    return {.send = {tree.parent(me), memory::input, {me, 1}}};
  }
  if (i == 0) {
    return copy_own_block(me, memory::input, collect);
  }
  if (i > children) {
    return {.send = {tree.parent(me), memory::work, tree.subtree(me)}};
  }
  const rank_type child = tree.child(me, i - 1);
  return {.receive = {child, collect, tree.subtree(child)},
          .sender_memory = tree.children(child) == 0 ? memory::input : memory::work};
}

/// Scatter: gather in reverse.
template <rooted_tree Tree>
[[nodiscard]] constexpr std::uint32_t scatter_steps(Tree const& tree, rank_type me) {
  return gather_steps(tree, me);
}

template <rooted_tree Tree>
[[nodiscard]] constexpr step scatter_step(Tree const& tree, rank_type me, std::uint32_t i) {
  bool const root = me == tree.root();
  const std::uint32_t children = tree.children(me);
  const memory source = root ? memory::input : memory::work;
  if (!root && i == 0) {
    const rank_type parent = tree.parent(me);
    return {.receive = {parent, children == 0 ? memory::output : memory::work, tree.subtree(me)},
            .sender_memory = parent == tree.root() ? memory::input : memory::work};
  }
  const std::uint32_t position = root ? i : i - 1;
  if (position == children) {
    return copy_own_block(me, source);
  }
  const rank_type child = tree.child(me, children - 1 - position);
  return {.send = {child, source, tree.subtree(child)}};
}

/// A base class for topologies: the rooted operations and allreduce on a tree, `Tree(n, root)`.
template <rooted_tree Tree>
struct on_tree {
  [[nodiscard]] constexpr std::uint32_t blocks(op::allreduce, rank_type) const { return 1; }
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type n, rank_type me) const {
    return allreduce_steps(Tree(n, Tree::centre(n)), me);
  }
  [[nodiscard]] constexpr step at(op::allreduce, rank_type n, rank_type me, std::uint32_t i) const {
    return allreduce_step(Tree(n, Tree::centre(n)), me, i);
  }

  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce, rank_type) const { return 1; }
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce o, rank_type n, rank_type me) const {
    return reduce_steps(Tree(n, o.root), me);
  }
  [[nodiscard]] constexpr step at(op::reduce o, rank_type n, rank_type me, std::uint32_t i) const {
    return reduce_step(Tree(n, o.root), me, i);
  }

  [[nodiscard]] constexpr std::uint32_t blocks(op::broadcast, rank_type) const { return 1; }
  [[nodiscard]] constexpr std::uint32_t steps(op::broadcast o, rank_type n, rank_type me) const {
    return broadcast_steps(Tree(n, o.root), me);
  }
  [[nodiscard]] constexpr step at(op::broadcast o, rank_type n, rank_type me, std::uint32_t i) const {
    return broadcast_step(Tree(n, o.root), me, i);
  }

  [[nodiscard]] constexpr std::uint32_t blocks(op::gather, rank_type n) const { return n; }
  [[nodiscard]] constexpr std::uint32_t steps(op::gather o, rank_type n, rank_type me) const {
    return gather_steps(Tree(n, o.root), me);
  }
  [[nodiscard]] constexpr step at(op::gather o, rank_type n, rank_type me, std::uint32_t i) const {
    return gather_step(Tree(n, o.root), me, i);
  }

  [[nodiscard]] constexpr std::uint32_t blocks(op::scatter, rank_type n) const { return n; }
  [[nodiscard]] constexpr std::uint32_t steps(op::scatter o, rank_type n, rank_type me) const {
    return scatter_steps(Tree(n, o.root), me);
  }
  [[nodiscard]] constexpr step at(op::scatter o, rank_type n, rank_type me, std::uint32_t i) const {
    return scatter_step(Tree(n, o.root), me, i);
  }
};

}  // namespace tutti::detail::topology
