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

/// What all ranks of a strategy do together: hand out rank 0's numbers, and add numbers up, with the same bits
/// on all of them. Topologies that have no broadcast leave it to a binary tree: it happens once.
template <class Communicator, offers<op::allreduce> Topology>
class group_operations {
  using sharing = std::conditional_t<offers<Topology, op::broadcast>, Topology, binary_tree>;

 public:
  group_operations(Communicator& world, Topology const& topology)
      : world_(world.alias()), share_(world, sharing_for(topology)), sum_(world, topology, tutti::sum<float>{}) {}

  [[nodiscard]] Communicator& world() const noexcept { return world_; }
  [[nodiscard]] rank_type rank() const noexcept { return world_.rank(); }
  [[nodiscard]] rank_type size() const noexcept { return world_.size(); }

  /// Cost: one broadcast.
  void share(std::span<float> numbers) { share_(numbers, 0); }
  /// Cost: one allreduce.
  void sum(std::span<float> numbers) { sum_(numbers); }
  /// The same, under way.
  [[nodiscard]] request start_sum(std::span<float> numbers) { return sum_.start(numbers); }

 private:
  static sharing sharing_for(Topology const& topology) {
    if constexpr (offers<Topology, op::broadcast>) {
      return topology;
    } else {
      return {};
    }
  }

  mutable Communicator world_;
  broadcast<Communicator, sharing> share_;
  allreduce<Communicator, Topology, tutti::sum<float>> sum_;
};

}  // namespace tutti::nn::detail::strategy
