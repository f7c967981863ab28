// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/nn/strategy/concept.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/binary_tree.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace tutti::nn {

/// Synchronous data-parallel training: initial weights by broadcast from rank 0, gradients added by
/// allreduce. Every rank weights its samples by one over the global batch, so the sum of the
/// gradients is their mean over the batch, exactly, however unequal the shards are.
///
/// The gradients of a step may be cut into buckets, from the end on: backward completes them in that order,
/// and each bucket is on its way as soon as it is complete, while the gradients before it are computed
/// (Li et al., "PyTorch Distributed: Experiences on accelerating data parallel training", VLDB 2020, section
/// 3.2). The first bucket is small, so that communication begins early. There is no hidden thread:
/// buckets move on when `completed` is called. Cuts depend on nothing but the message's size and
/// the bucket's, so all ranks start the same operations in the same order. Where the topology cuts
/// vectors into blocks, buckets change the order in which terms are added, and so the last bits of the
/// sums, alike on all ranks.
///
/// The only place of the trainer that uses collectives. Topologies that have no broadcast leave it to
/// a binary tree: it happens once.
template <class Communicator, offers<op::allreduce> Topology>
class synchronous {
  using sharing = std::conditional_t<offers<Topology, op::broadcast>, Topology, binary_tree>;

 public:
  /// Of larger buckets, the first is cut to so many bytes.
  static constexpr std::size_t first_bucket = std::size_t{64} * 1024;

  /// @param bucket most bytes of a bucket, the same on all ranks; 0: the whole message is one
  /// @pre the communicator outlives the strategy
  explicit synchronous(Communicator& world, Topology topology = {}, std::size_t bucket = 0)
      : world_(world),
        share_(world, sharing_for(topology)),
        sum_(world, topology, tutti::sum<float>{}),
        bucket_(bucket) {}

  [[nodiscard]] rank_type rank() const noexcept { return world_.rank(); }
  [[nodiscard]] rank_type size() const noexcept { return world_.size(); }

  /// Cost: one broadcast.
  void share(std::span<float> numbers) { share_(numbers, 0); }

  /// Cost: one allreduce.
  void sum(std::span<float> numbers) { sum_(numbers); }

  /// Cost: no allocation from the second message of a size on.
  /// @pre the message outlives `finish`, or the strategy
  void begin(std::span<float> message) {
    under_way_.clear();  // those of a step that failed
    message_ = message;
    waiting_ = message.size();
    under_way_.reserve(count());
  }

  /// Starts the buckets that are complete, and moves on those under way.
  /// @pre follows `begin`
  void completed(std::size_t first) {
    if (waiting_ > first) {
      for (std::size_t cut = next_cut(); waiting_ != 0 && cut >= first; cut = next_cut()) {
        under_way_.push_back(sum_.start(message_.subspan(cut, waiting_ - cut)));
        waiting_ = cut;
      }
    }
    if (!under_way_.empty()) {
      world_.poll();
    }
  }

  /// @throws error if a bucket's allreduce has failed; the message is then of no use
  void finish() {
    completed(0);
    for (auto& one : under_way_) {
      one.wait();
    }
    under_way_.clear();
  }

 private:
  static sharing sharing_for(Topology const& topology) {
    if constexpr (offers<Topology, op::broadcast>) {
      return topology;
    } else {
      return {};
    }
  }

  /// Numbers in each bucket but the first, and the last, which takes the rest.
  [[nodiscard]] std::size_t numbers() const noexcept {
    return bucket_ == 0 ? message_.size() : std::max(bucket_ / sizeof(float), std::size_t{1});
  }
  [[nodiscard]] std::size_t first_numbers() const noexcept {
    return bucket_ == 0 ? message_.size() : std::min(numbers(), first_bucket / sizeof(float));
  }
  [[nodiscard]] std::size_t count() const noexcept {
    return message_.size() <= first_numbers() ? 1 : 2 + (message_.size() - first_numbers() - 1) / numbers();
  }
  /// Where the next bucket begins.
  [[nodiscard]] std::size_t next_cut() const noexcept {
    std::size_t const most = under_way_.empty() ? first_numbers() : numbers();
    return waiting_ - std::min(waiting_, most);
  }

  Communicator& world_;
  broadcast<Communicator, sharing> share_;
  allreduce<Communicator, Topology, tutti::sum<float>> sum_;
  std::size_t bucket_;
  std::span<float> message_;
  std::size_t waiting_ = 0;         // numbers in front that are in no bucket yet
  std::vector<request> under_way_;  // in the order of starting
};

}  // namespace tutti::nn
