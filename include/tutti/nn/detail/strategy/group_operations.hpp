// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/binary_tree.hpp>

#include <span>
#include <type_traits>

namespace tutti::inline v0_1_0::nn::detail::inline strategy {

/// The collectives of a strategy: broadcast of rank 0's numbers, and sum of numbers, with equal bits on all ranks. If
/// the topology has no broadcast, a binary tree is used, because it happens once.
template <class Communicator, offers<op::allreduce> Topology>
class group_operations {
  using broadcast_schedule = std::conditional_t<offers<Topology, op::broadcast>, Topology, binary_tree>;

 public:
  group_operations(Communicator& world, Topology const& topology)
      : world_(world.alias()),
        broadcast_(world, broadcast_topology(topology)),
        sum_(world, topology, tutti::sum<float>{}) {}

  [[nodiscard]] Communicator& world() const noexcept { return world_; }
  [[nodiscard]] rank_type rank() const noexcept { return world_.rank(); }
  [[nodiscard]] rank_type size() const noexcept { return world_.size(); }

  /// Broadcasts rank 0's numbers. Cost: one broadcast.
  void broadcast(std::span<float> numbers) { broadcast_(numbers, 0); }
  /// Sums numbers over all ranks. Cost: one allreduce.
  void sum(std::span<float> numbers) { sum_(numbers); }
  /// Starts `sum`.
  [[nodiscard]] request start_sum(std::span<float> numbers) { return sum_.start(numbers); }

 private:
  static broadcast_schedule broadcast_topology(Topology const& topology) {
    if constexpr (offers<Topology, op::broadcast>) {
      return topology;
    } else {
      return {};
    }
  }

  mutable Communicator world_;
  tutti::broadcast<Communicator, broadcast_schedule> broadcast_;
  allreduce<Communicator, Topology, tutti::sum<float>> sum_;
};

}  // namespace tutti::nn::detail::strategy
