// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Synchronous training with equal weights, bit for bit, for any number of ranks: ranks add the accumulators of the
/// gradients of whole micro-batches, rounded once at the end. So sums do not depend on the assignment of
/// micro-batches to ranks, on the topology, the transport or the buckets.
///
/// Complete sums travel as floats: in a ring 20 bytes a number instead of 8 for plain sums.
///
/// Requires replicas with settings::reproducible.
template <class Communicator, offers<op::allreduce> Topology>
class reproducible : public summing_strategy {
 public:
  /// @param sums accumulators of the replica, one for each element of its gradient buffer
  /// @param bucket largest size in bytes of the numbers of one bucket, equal on all ranks; 0: one bucket
  /// @pre the accumulators outlive the strategy
  reproducible(Communicator& world, Topology topology, std::span<binned_sum const> sums, std::size_t bucket = 0)
      : world_(world.alias()),
        plain_(world, topology),
        add_(world, topology, reproducible_sum<binned_sum, float>{}),
        sums_(sums),
        most_(bucket == 0 ? sums.size() : (std::max)(bucket / sizeof(float), std::size_t{1})) {
    expects(!sums.empty(), "reproducible: the replica keeps no accumulators; set settings::reproducible to true");
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return world_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return world_.size(); }

  void broadcast(std::span<float> numbers) override { plain_.broadcast(numbers); }
  /// Sums numbers that may depend on the number of ranks, such as times.
  void sum(std::span<float> numbers) override { plain_.sum(numbers); }
  /// Sums accumulators with bits that do not depend on the number of ranks.
  void sum_accumulators(std::span<binned_sum const> sums, std::span<float> numbers) override { add_(sums, numbers); }
  [[nodiscard]] bool adds_accumulators() const noexcept override { return true; }

  /// @pre the gradient buffer is that of the replica, and outlives `finish`, or the strategy
  void begin(std::span<float> message) override {
    expects(message.size() == sums_.size(), "reproducible: made for ", sums_.size(),
            " accumulators, and the message has ", message.size(), " numbers; give the message of the same replica");
    under_way_.clear();  // requests of a failed step
    message_ = message;
    waiting_ = message.size();
    under_way_.reserve((waiting_ + most_ - 1) / most_);
  }

  /// Starts the buckets whose accumulators are complete, and makes progress on pending ones. Their part of the
  /// gradient buffer becomes the sums.
  void on_completion(std::size_t first) override {
    while (waiting_ > first && waiting_ - (std::min)(waiting_, most_) >= first) {
      std::size_t const cut = waiting_ - (std::min)(waiting_, most_);
      std::size_t const count = waiting_ - cut;
      under_way_.push_back(add_.start(sums_.subspan(cut, count), message_.subspan(cut, count)));
      waiting_ = cut;
    }
    if (!under_way_.empty()) {
      world_.poll();
    }
  }

  /// Completes the sums in the gradient buffer.
  void finish() override {
    on_completion(0);
    for (auto& one : under_way_) {
      one.wait();
    }
    under_way_.clear();
  }

 private:
  Communicator world_;
  synchronous<Communicator, Topology> plain_;
  allreduce<Communicator, Topology, reproducible_sum<binned_sum, float>> add_;
  std::span<binned_sum const> sums_;
  std::size_t most_;  // numbers of a bucket
  std::span<float> message_;
  std::size_t waiting_ = 0;         // numbers in front that belong to no bucket yet
  std::vector<request> under_way_;  // requests, oldest first
};

}  // namespace tutti::nn

#ifdef TUTTI_SEPARATE_COMPILATION
namespace tutti::inline v0_1_0 {
extern template struct detail::payload::by<reproducible_sum<binned_sum, float>>;
}  // namespace tutti
#endif
