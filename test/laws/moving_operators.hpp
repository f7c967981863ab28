// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/operators.hpp>
#include <laws/run_as.hpp>
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/alltoall.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/gather.hpp>
#include <tutti/collective/scatter.hpp>
#include <tutti/topology/doubling.hpp>

namespace laws {

template <class T, class World, class Topology>
[[nodiscard]] std::string broadcast(World& world, Topology topology, std::size_t count, std::size_t segment,
                                    rank_type root) {
  tutti::broadcast op{world, run_as(world, topology)};
  op.segment(segment);
  auto data = contributions<T>(world.rank(), count, 0);
  op(data, root);
  if (!equal_bits(data, contributions<T>(root, count, 0))) {
    return wrong<Topology>("broadcast", "", world.size(), count, segment, root);
  }
  spoil(data);
  return {};
}

template <class T, class World, class Topology>
[[nodiscard]] std::string allgather(World& world, Topology topology, tutti::partition const& blocks,
                                    std::size_t segment, auto const&... last) {
  rank_type const n = world.size();
  std::size_t const count = blocks.count();
  tutti::allgather op{world, run_as(world, topology)};
  op.segment(segment);
  auto const whole = contributions<T>(99, count, 0);
  auto const local_block = block_of(whole, blocks, world.rank());

  std::vector<T> whole_output(count);
  op(local_block, whole_output, last...);
  if (!equal_bits(whole_output, whole)) {
    return wrong<Topology>("allgather", "", n, count, segment);
  }
  spoil(whole_output);
  std::copy(local_block.begin(), local_block.end(),
            whole_output.begin() + static_cast<std::ptrdiff_t>(blocks.begin(world.rank())));
  auto pending = op.start(whole_output, last...);
  pending.wait();
  if (!equal_bits(whole_output, whole)) {
    return wrong<Topology>("allgather in place", "", n, count, segment);
  }
  if constexpr (sizeof...(last) != 0) {  // lengths that each rank tells the others
    auto const result = op.gather_uneven(local_block);
    if (!equal_bits(result.elements, whole) || !(result.blocks == blocks)) {
      return wrong<Topology>("gather_uneven", "", n, count, segment);
    }
  }
  return {};
}

template <class T, class World, class Topology>
[[nodiscard]] std::string gather(World& world, Topology topology, tutti::partition const& blocks, std::size_t segment,
                                 rank_type root, auto const& last) {
  rank_type const n = world.size();
  std::size_t const count = blocks.count();
  bool const at_root = world.rank() == root;
  tutti::gather op{world, run_as(world, topology)};
  op.segment(segment);
  auto const whole = contributions<T>(99, count, 0);
  auto const local_block = block_of(whole, blocks, world.rank());

  std::vector<T> whole_output(at_root ? count : 0);
  op(local_block, whole_output, root, last);
  if (at_root && !equal_bits(whole_output, whole)) {
    return wrong<Topology>("gather", "", n, count, segment, root);
  }
  spoil(whole_output);
  if (at_root) {  // in place: the root's block is already there
    auto const place = std::span(whole_output).subspan(blocks.begin(root), local_block.size());
    std::copy(local_block.begin(), local_block.end(), place.begin());
    op(place, whole_output, root, last);
  } else {
    op(local_block, whole_output, root, last);
  }
  if (at_root && !equal_bits(whole_output, whole)) {
    return wrong<Topology>("gather in place", "", n, count, segment, root);
  }
  if constexpr (std::same_as<decltype(last), tutti::partition const&>) {  // lengths that each rank tells the root
    auto const result = op.gather_uneven(local_block, root);
    if (!equal_bits(result.elements, at_root ? whole : std::vector<T>()) || !(result.blocks == blocks)) {
      return wrong<Topology>("gather: gather_uneven", "", n, count, segment, root);
    }
  }
  return {};
}

template <class T, class World, class Topology>
[[nodiscard]] std::string scatter(World& world, Topology topology, tutti::partition const& blocks, std::size_t segment,
                                  rank_type root, auto const& last) {
  rank_type const n = world.size();
  std::size_t const count = blocks.count();
  bool const at_root = world.rank() == root;
  tutti::scatter op{world, run_as(world, topology)};
  op.segment(segment);
  auto const whole = contributions<T>(99, count, 0);
  auto const expected = block_of(whole, blocks, world.rank());

  std::vector<T> local_block(expected.size());
  auto whole_input = at_root ? whole : std::vector<T>();
  op(whole_input, local_block, root, last);
  if (!equal_bits(local_block, expected) || (at_root && !equal_bits(whole_input, whole))) {
    return wrong<Topology>("scatter", "", n, count, segment, root);
  }
  spoil(local_block);
  if (at_root) {
    op(whole_input, std::span(whole_input).subspan(blocks.begin(root), local_block.size()), root, last);
    local_block = block_of(whole_input, blocks, root);
  } else {
    auto pending = op.start(whole_input, local_block, root, last);
    pending.wait();
  }
  if (!equal_bits(local_block, expected)) {
    return wrong<Topology>("scatter in place", "", n, count, segment, root);
  }
  if constexpr (std::same_as<decltype(last), tutti::partition const&>) {  // lengths that the root tells each rank
    auto const result = op.scatter_uneven(whole_input, at_root ? blocks : tutti::partition{}, root);
    if (!equal_bits(result, expected)) {
      return wrong<Topology>("scatter_uneven", "", n, count, segment, root);
    }
  }
  return {};
}

template <class T, class World, class Topology>
[[nodiscard]] std::string alltoall(World& world, Topology topology, std::size_t block_length, std::size_t segment) {
  rank_type const n = world.size();
  tutti::alltoall op{world, run_as(world, topology)};
  op.segment(segment);
  auto const input = contributions<T>(world.rank(), block_length * n, 0);
  std::vector<T> output(block_length * n);
  std::vector<T> expected;
  for (rank_type sender = 0; sender < n; ++sender) {
    for (std::size_t i = 0; i < block_length; ++i) {
      expected.push_back(contribution<T>(sender, world.rank() * block_length + i, 0));
    }
  }
  op(input, output);
  if (!equal_bits(output, expected)) {
    return wrong<Topology>("alltoall", "", n, block_length * n, segment);
  }
  return {};
}

/// True if the alltoall of a topology sends each block straight to its rank, as blocks of any lengths need.
template <class Topology>
inline constexpr bool sends_straight = !std::same_as<Topology, tutti::doubling>;

/// Checks an alltoall in which each rank sends the blocks of a partition of its own.
template <class T, class World, class Topology>
[[nodiscard]] std::string uneven_alltoall(World& world, Topology topology, std::uint32_t seed) {
  rank_type const n = world.size();
  rank_type const me = world.rank();
  tutti::alltoall op{world, run_as(world, topology)};
  op.segment(1000);  // has no effect on blocks of any lengths
  auto const sent_by = [&](rank_type r) { return drawn_blocks(n, seed + r); };
  std::vector<std::size_t> received_lengths;
  std::vector<T> expected;
  for (rank_type sender = 0; sender < n; ++sender) {
    tutti::partition const blocks = sent_by(sender);
    received_lengths.push_back(blocks.length(me));
    auto const block = block_of(contributions<T>(sender, blocks.count(), 0), blocks, me);
    expected.insert(expected.end(), block.begin(), block.end());
  }
  tutti::partition const outgoing = sent_by(me);
  tutti::partition const incoming(received_lengths);
  auto const input = contributions<T>(me, outgoing.count(), 0);
  auto const complaint = [&](char const* description) {
    return wrong<Topology>(description, "", n, outgoing.count(), 0);
  };

  std::vector<T> output(incoming.count());
  op(input, output, outgoing, incoming);
  if (!equal_bits(output, expected)) {
    return complaint("alltoall of any lengths");
  }
  auto const result = op.exchange_uneven(input, outgoing);
  if (!equal_bits(result.elements, expected) || !(result.blocks == incoming)) {
    return complaint("exchange_uneven");
  }
  spoil(output);
  auto pending = op.start(input, output, outgoing, incoming);
  std::vector<T> equal_output(n);
  op(contributions<T>(me, n, 0), equal_output);  // equal blocks between
  pending.wait();
  if (!equal_bits(output, expected)) {
    return complaint("alltoall of any lengths, started");
  }
  for (rank_type sender = 0; sender < n; ++sender) {
    if (!equal_bits(std::vector{equal_output[sender]}, std::vector{contribution<T>(sender, me, 0)})) {
      return complaint("alltoall of equal lengths after others");
    }
  }
  return {};
}

/// The last argument of gather and scatter: the number of elements of equal blocks, or the partition.
[[nodiscard]] inline std::size_t total_or(tutti::partition const& blocks) {
  return blocks.count();
}
[[nodiscard]] inline tutti::partition const& total_or(tutti::partition const&, tutti::partition const& last) {
  return last;
}

// Each operator over every length and, if it has one, every root; "" if the topology does not offer it.

template <class T, class World, class Topology>
[[nodiscard]] std::string broadcasts(World& world, Topology topology, std::size_t longest) {
  if constexpr (tutti::offers<Topology, tutti::op::broadcast>) {
    return each_length_and_root(world.size(), longest, [&](std::size_t count, std::size_t segment, rank_type root) {
      return broadcast<T>(world, topology, count, segment, root);
    });
  }
  return {};
}
template <class T, class World, class Topology>
[[nodiscard]] std::string gathers(World& world, Topology topology, std::size_t longest) {
  if constexpr (tutti::offers<Topology, tutti::op::gather>) {
    return each_partition(
        world.size(), longest, [&](tutti::partition const& blocks, std::size_t segment, auto const&... last) {
          std::string complaint;
          for (rank_type const root : roots(world.size())) {
            if (complaint.empty()) {
              complaint = gather<T>(world, topology, blocks, segment, root, total_or(blocks, last...));
            }
          }
          return complaint;
        });
  }
  return {};
}
template <class T, class World, class Topology>
[[nodiscard]] std::string scatters(World& world, Topology topology, std::size_t longest) {
  if constexpr (tutti::offers<Topology, tutti::op::scatter>) {
    return each_partition(
        world.size(), longest, [&](tutti::partition const& blocks, std::size_t segment, auto const&... last) {
          std::string complaint;
          for (rank_type const root : roots(world.size())) {
            if (complaint.empty()) {
              complaint = scatter<T>(world, topology, blocks, segment, root, total_or(blocks, last...));
            }
          }
          return complaint;
        });
  }
  return {};
}
template <class T, class World, class Topology>
[[nodiscard]] std::string allgathers(World& world, Topology topology, std::size_t longest) {
  if constexpr (tutti::offers<Topology, tutti::op::allgather>) {
    return each_partition(world.size(), longest,
                          [&](tutti::partition const& blocks, std::size_t segment, auto const&... last) {
                            return allgather<T>(world, topology, blocks, segment, last...);
                          });
  }
  return {};
}
template <class T, class World, class Topology>
[[nodiscard]] std::string alltoalls(World& world, Topology topology, std::size_t longest) {
  if constexpr (tutti::offers<Topology, tutti::op::alltoall>) {
    std::string complaint = each_length(longest, [&](std::size_t count, std::size_t segment) {
      return alltoall<T>(world, topology, count / world.size(), segment);
    });
    for (std::uint32_t const seed : {0U, 100U}) {
      if constexpr (sends_straight<Topology>) {
        complaint = complaint.empty() ? uneven_alltoall<T>(world, topology, seed) : complaint;
      }
    }
    return complaint;
  }
  return {};
}

/// Checks every operator that the topology offers.
template <class T, class World, class Topology>
[[nodiscard]] std::string moving(World& world, Topology topology, std::size_t longest) {
  std::string complaint = broadcasts<T>(world, topology, longest);
  complaint = complaint.empty() ? gathers<T>(world, topology, longest) : complaint;
  complaint = complaint.empty() ? scatters<T>(world, topology, longest) : complaint;
  complaint = complaint.empty() ? allgathers<T>(world, topology, longest) : complaint;
  return complaint.empty() ? alltoalls<T>(world, topology, longest) : complaint;
}

}  // namespace laws
