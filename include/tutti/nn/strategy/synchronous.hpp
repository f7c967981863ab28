// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/nn/strategy/concept.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/binary_tree.hpp>

#include <span>
#include <type_traits>

namespace tutti::nn {

/// Synchronous data-parallel training: initial weights by broadcast from rank 0, gradients added by
/// allreduce. Every rank weights its samples by one over the global batch, so the sum of the
/// gradients is their mean over the batch, exactly, however unequal the shards are.
///
/// The only place of the trainer that uses collectives. Topologies that have no broadcast leave it to
/// a binary tree: it happens once.
template <class Communicator, offers<op::allreduce> Topology>
class synchronous {
  using sharing = std::conditional_t<offers<Topology, op::broadcast>, Topology, binary_tree>;

 public:
  /// @pre the communicator outlives the strategy
  explicit synchronous(Communicator& world, Topology topology = {})
      : world_(world), share_(world, sharing_for(topology)), sum_(world, topology, tutti::sum<float>{}) {}

  [[nodiscard]] rank_type rank() const noexcept { return world_.rank(); }
  [[nodiscard]] rank_type size() const noexcept { return world_.size(); }

  /// Cost: one broadcast.
  void share(std::span<float> numbers) { share_(numbers, 0); }

  /// Cost: one allreduce.
  void sum(std::span<float> numbers) { sum_(numbers); }

 private:
  static sharing sharing_for(Topology const& topology) {
    if constexpr (offers<Topology, op::broadcast>) {
      return topology;
    } else {
      return {};
    }
  }

  Communicator& world_;
  broadcast<Communicator, sharing> share_;
  allreduce<Communicator, Topology, tutti::sum<float>> sum_;
};

}  // namespace tutti::nn
