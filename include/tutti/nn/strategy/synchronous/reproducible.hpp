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
        float_sums_(world, topology),
        accumulator_sum_(world, topology, reproducible_sum<binned_sum, float>{}),
        sums_(sums),
        bucket_length_(bucket == 0 ? sums.size() : (std::max)(bucket / sizeof(float), std::size_t{1})) {
    expects(!sums.empty(), "reproducible: the replica keeps no accumulators; set settings::reproducible to true");
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return world_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return world_.size(); }

  void broadcast(std::span<float> numbers) override { float_sums_.broadcast(numbers); }
  /// Sums numbers that may depend on the number of ranks, such as times.
  void sum(std::span<float> numbers) override { float_sums_.sum(numbers); }
  /// Sums accumulators with bits that do not depend on the number of ranks.
  void sum_accumulators(std::span<binned_sum const> sums, std::span<float> numbers) override {
    accumulator_sum_(sums, numbers);
  }
  [[nodiscard]] bool adds_accumulators() const noexcept override { return true; }

  /// @pre the gradient buffer is that of the replica, and outlives `finish`, or the strategy
  void begin(std::span<float> gradient_buffer) override {
    expects(gradient_buffer.size() == sums_.size(), "reproducible: made for ", sums_.size(),
            " accumulators, and the gradient buffer has ", gradient_buffer.size(),
            " numbers; give that of the same replica");
    requests_.clear();  // requests of a failed step
    gradient_buffer_ = gradient_buffer;
    remaining_ = gradient_buffer.size();
    requests_.reserve((remaining_ + bucket_length_ - 1) / bucket_length_);
  }

  /// Starts the buckets whose accumulators are complete, and makes progress on pending ones. Their part of the
  /// gradient buffer becomes the sums.
  void on_completion(std::size_t first) override {
    while (remaining_ > first && remaining_ - (std::min)(remaining_, bucket_length_) >= first) {
      std::size_t const begin = remaining_ - (std::min)(remaining_, bucket_length_);
      std::size_t const count = remaining_ - begin;
      requests_.push_back(accumulator_sum_.start(sums_.subspan(begin, count), gradient_buffer_.subspan(begin, count)));
      remaining_ = begin;
    }
    if (!requests_.empty()) {
      world_.poll();
    }
  }

  /// Completes the sums in the gradient buffer.
  void finish() override {
    on_completion(0);
    for (auto& pending : requests_) {
      pending.wait();
    }
    requests_.clear();
  }

 private:
  Communicator world_;
  synchronous<Communicator, Topology> float_sums_;
  allreduce<Communicator, Topology, reproducible_sum<binned_sum, float>> accumulator_sum_;
  std::span<binned_sum const> sums_;
  std::size_t bucket_length_;  // numbers of a bucket
  std::span<float> gradient_buffer_;
  std::size_t remaining_ = 0;      // numbers in front that belong to no bucket yet
  std::vector<request> requests_;  // requests, oldest first
};

}  // namespace tutti::nn

#ifdef TUTTI_SEPARATE_COMPILATION
namespace tutti::inline v0_1_0 {
extern template struct detail::payload::code_of<reproducible_sum<binned_sum, float>>;
}  // namespace tutti
#endif
