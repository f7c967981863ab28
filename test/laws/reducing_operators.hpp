// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/operators.hpp>
#include <laws/run_as.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/exscan.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/collective/scan.hpp>
#include <tutti/detail/verify/contents.hpp>

namespace laws {

/// Runs in place, out of place, and two at a time, one of whose buffers the caller overwrites at once.
template <class World, class Topology, class R>
[[nodiscard]] std::string allreduce(World& world, Topology topology, R reduction, std::size_t count,
                                    std::size_t segment) {
  using T = typename R::value_type;
  rank_type const n = world.size();
  tutti::allreduce op{world, run_as(world, topology), reduction};
  op.segment(segment);

  auto data = contributions<T>(world.rank(), count, 0);
  op(data);
  if (!equal_bits(data, sequential(reduction, n, count, 0))) {
    return wrong<Topology>("allreduce in place", R::name, n, count, segment);
  }
  spoil(data);

  auto const input = contributions<T>(world.rank(), count, 1);
  std::vector<T> output(count);
  op(input, output);
  if (!equal_bits(output, sequential(reduction, n, count, 1)) ||
      !equal_bits(input, contributions<T>(world.rank(), count, 1))) {
    return wrong<Topology>("allreduce out of place", R::name, n, count, segment);
  }
  spoil(output);

  auto first = contributions<T>(world.rank(), count, 2);
  auto second = contributions<T>(world.rank(), count, 3);
  auto first_request = op.start(first);
  auto second_request = op.start(second);
  (world.rank() % 2 == 0 ? first_request : second_request).wait();
  (world.rank() % 2 == 0 ? second_request : first_request).wait();
  if (!equal_bits(first, sequential(reduction, n, count, 2)) ||
      !equal_bits(second, sequential(reduction, n, count, 3))) {
    return wrong<Topology>("two allreduces in flight", R::name, n, count, segment);
  }
  return {};
}

template <class World, class Topology, class R>
[[nodiscard]] std::string reduce(World& world, Topology topology, R reduction, std::size_t count, std::size_t segment,
                                 rank_type root) {
  using T = typename R::value_type;
  rank_type const n = world.size();
  bool const at_root = world.rank() == root;
  tutti::reduce op{world, run_as(world, topology), reduction};
  op.segment(segment);

  auto data = contributions<T>(world.rank(), count, 0);
  op(data, root);
  if (!equal_bits(data, at_root ? sequential(reduction, n, count, 0) : contributions<T>(world.rank(), count, 0))) {
    return wrong<Topology>("reduce in place", R::name, n, count, segment, root);
  }
  spoil(data);

  auto const input = contributions<T>(world.rank(), count, 1);
  std::vector<T> output(at_root ? count : 0);
  auto pending = op.start(input, output, root);
  pending.wait();
  if (at_root && !equal_bits(output, sequential(reduction, n, count, 1))) {
    return wrong<Topology>("reduce out of place", R::name, n, count, segment, root);
  }
  return {};
}

template <class World, class Topology, class R>
[[nodiscard]] std::string reduce_scatter(World& world, Topology topology, R reduction, tutti::partition const& blocks,
                                         std::size_t segment, auto const&... last) {
  using T = typename R::value_type;
  rank_type const n = world.size();
  std::size_t const count = blocks.count();
  tutti::reduce_scatter op{world, run_as(world, topology), reduction};
  op.segment(segment);

  auto data = contributions<T>(world.rank(), count, 0);
  auto const block = op(data, last...);
  if (!equal_bits(std::vector<T>(block.begin(), block.end()),
                  block_of(sequential(reduction, n, count, 0), blocks, world.rank()))) {
    return wrong<Topology>("reduce_scatter in place", R::name, n, count, segment);
  }
  spoil(data);

  auto const input = contributions<T>(world.rank(), count, 1);
  std::vector<T> output(blocks.length(world.rank()));
  op.start(input, output, last...).wait();
  if (!equal_bits(output, block_of(sequential(reduction, n, count, 1), blocks, world.rank())) ||
      !equal_bits(input, contributions<T>(world.rank(), count, 1))) {
    return wrong<Topology>("reduce_scatter out of place", R::name, n, count, segment);
  }
  return {};
}

/// Makes the operator of an operation.
template <class World, class Topology, class R>
[[nodiscard]] auto make_operator(tutti::op::allreduce, World& world, Topology topology, R reduction) {
  return tutti::allreduce{world, topology, reduction};
}
template <class World, class Topology, class R>
[[nodiscard]] auto make_operator(tutti::op::scan, World& world, Topology topology, R reduction) {
  return tutti::scan{world, topology, reduction};
}
template <class World, class Topology, class R>
[[nodiscard]] auto make_operator(tutti::op::exscan, World& world, Topology topology, R reduction) {
  return tutti::exscan{world, topology, reduction};
}

/// Runs a scan or exscan in place, out of place, and two at a time. The memory of a rank without a result, which is
/// rank 0 of an exscan, does not change.
template <class Op, class World, class Topology, class R>
[[nodiscard]] std::string scan(World& world, Topology topology, R reduction, std::size_t count, std::size_t segment) {
  using T = typename R::value_type;
  std::string const name(tutti::name(tutti::detail::verify::kind_of<Op>));
  rank_type const n = world.size();
  rank_type const prefix_ranks = tutti::contributions<Op>(n, world.rank());
  auto op = make_operator(Op{}, world, run_as(world, topology), reduction);
  op.segment(segment);
  auto const is_right = [&](std::vector<T> const& result, std::size_t k, std::vector<T> const& old_result) {
    return equal_bits(result, prefix_ranks == 0 ? old_result : sequential(reduction, prefix_ranks, count, k));
  };
  auto const input = [&](std::size_t k) { return contributions<T>(world.rank(), count, k); };

  auto data = input(0);
  op(data);
  if (!is_right(data, 0, input(0))) {
    return wrong<Topology>(name + " in place", R::name, n, count, segment);
  }
  spoil(data);

  auto const source = input(1);
  std::vector<T> output(count);
  spoil(output);
  auto const old_result = output;
  op(source, output);
  if (!is_right(output, 1, old_result) || !equal_bits(source, input(1))) {
    return wrong<Topology>(name + " out of place", R::name, n, count, segment);
  }

  auto first = input(2);
  auto second = input(3);
  auto first_request = op.start(first);
  auto second_request = op.start(second);
  (world.rank() % 2 == 0 ? first_request : second_request).wait();
  (world.rank() % 2 == 0 ? second_request : first_request).wait();
  if (!is_right(first, 2, input(2)) || !is_right(second, 3, input(3))) {
    return wrong<Topology>("two in flight of " + name, R::name, n, count, segment);
  }
  return {};
}

/// True if the operator can be made.
template <class Topology, class Op, class R>
inline constexpr bool reduces_over = tutti::offers<Topology, Op> && tutti::keeps_rank_order_for<Topology, Op, R>;

// Each operator over every length and, if it has one, every root; "" if the topology does not offer it.

template <class World, class Topology, class R>
[[nodiscard]] std::string allreduces(World& world, Topology topology, R reduction, std::size_t longest) {
  if constexpr (reduces_over<Topology, tutti::op::allreduce, R>) {
    return each_length(longest, [&](std::size_t count, std::size_t segment) {
      return allreduce(world, topology, reduction, count, segment);
    });
  }
  return {};
}
template <class World, class Topology, class R>
[[nodiscard]] std::string reduces(World& world, Topology topology, R reduction, std::size_t longest) {
  if constexpr (reduces_over<Topology, tutti::op::reduce, R>) {
    return each_length_and_root(world.size(), longest, [&](std::size_t count, std::size_t segment, rank_type root) {
      return reduce(world, topology, reduction, count, segment, root);
    });
  }
  return {};
}
template <class World, class Topology, class R>
[[nodiscard]] std::string reduce_scatters(World& world, Topology topology, R reduction, std::size_t longest) {
  if constexpr (reduces_over<Topology, tutti::op::reduce_scatter, R>) {
    return each_partition(world.size(), longest,
                          [&](tutti::partition const& blocks, std::size_t segment, auto const&... last) {
                            return reduce_scatter(world, topology, reduction, blocks, segment, last...);
                          });
  }
  return {};
}

template <class World, class Topology, class R>
[[nodiscard]] std::string scans(World& world, Topology topology, R reduction, std::size_t longest) {
  if constexpr (reduces_over<Topology, tutti::op::scan, R> && reduces_over<Topology, tutti::op::exscan, R>) {
    return each_length(longest, [&](std::size_t count, std::size_t segment) {
      std::string const complaint = scan<tutti::op::scan>(world, topology, reduction, count, segment);
      return complaint.empty() ? scan<tutti::op::exscan>(world, topology, reduction, count, segment) : complaint;
    });
  }
  return {};
}

/// Checks every operator that the topology offers.
template <class World, class Topology, class R>
[[nodiscard]] std::string reducing(World& world, Topology topology, R reduction, std::size_t longest) {
  std::string complaint = allreduces(world, topology, reduction, longest);
  complaint = complaint.empty() ? reduces(world, topology, reduction, longest) : complaint;
  complaint = complaint.empty() ? reduce_scatters(world, topology, reduction, longest) : complaint;
  return complaint.empty() ? scans(world, topology, reduction, longest) : complaint;
}

}  // namespace laws
