// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/bfloat16.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/half.hpp>
#include <tutti/nn/detail/compression/conversion.hpp>
#include <tutti/nn/detail/strategy/group_operations.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/progress_thread.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The progress of buckets while their rank computes: by the rank itself whenever gradients are complete, or by an
/// additional thread, for slow layers and spare cores.
enum class bucket_progress { between_layers, by_thread };

/// Synchronous data-parallel training: initial weights by broadcast from rank 0, gradients summed by allreduce. Every
/// rank weights its samples by one over the global batch, so the sum of the gradients is exactly their mean over the
/// batch, however unequal the shards are.
///
/// The gradients of a step may be divided into buckets, from the end to the beginning, which is the order of
/// backward. Each bucket is sent as soon as it is complete, while earlier gradients are computed (Li et al., "PyTorch
/// Distributed: Experiences on accelerating data parallel training", VLDB 2020, section 3.2). The first bucket is
/// small, so that communication begins early. Without a thread, `on_completion` makes progress on buckets. Cuts depend
/// only on the sizes of the buffer and of a bucket, so all ranks start the same operations in the same order. Where
/// the topology cuts vectors into blocks, buckets change the order of additions, and so the last bits of the sums,
/// alike on all ranks.
///
/// With `half` or `bfloat16`, gradients are rounded to 16 bits before they are summed, and by the sum as the
/// reduction says. The extra scalars stay floats.
template <class Communicator, offers<op::allreduce> Topology, reduction Reduction = tutti::sum<float>>
class synchronous : public summing_strategy {
  using sent_type = typename Reduction::value_type;
  static constexpr bool narrows = !std::same_as<sent_type, float>;

 public:
  /// The size in bytes of the first bucket, if buckets are larger.
  static constexpr std::size_t first_bucket = std::size_t{64} * 1024;

  /// @param bucket largest size of a bucket in bytes, equal on all ranks; 0: one bucket
  /// @param extra_scalars number of extra scalars at the end of the gradient buffer, which stay floats
  /// @pre the communicator outlives the strategy; with a thread the strategy is its only user
  explicit synchronous(Communicator& world, Topology topology = {}, std::size_t bucket = 0,
                       bucket_progress progress = bucket_progress::between_layers, Reduction reduction = {},
                       std::size_t extra_scalars = 0)
      : collectives_(world, topology),
        gradient_sum_(world, topology, reduction),
        bucket_(bucket),
        extra_scalars_(narrows ? extra_scalars : 0) {
    if (progress == bucket_progress::by_thread) {
      progress_thread_.emplace(world);
    }
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return collectives_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return collectives_.size(); }

  /// Cost: one broadcast.
  void broadcast(std::span<float> numbers) override {
    pause_thread();
    collectives_.broadcast(numbers);
  }

  /// Cost: one allreduce.
  void sum(std::span<float> numbers) override {
    pause_thread();
    collectives_.sum(numbers);
    resume_thread();
  }

  /// Cost: no allocation from the second buffer of a size on.
  /// @pre the gradient buffer outlives `finish`, or the strategy
  void begin(std::span<float> gradient_buffer) override {
    pause_thread();
    requests_.clear();  // requests of a failed step
    expects(gradient_buffer.size() >= extra_scalars_, "synchronous: a gradient buffer of ", gradient_buffer.size(),
            " numbers must have at least the ", extra_scalars_, " extra scalars");
    gradients_ = gradient_buffer.first(gradient_buffer.size() - extra_scalars_);
    pending_scalars_ = gradient_buffer.last(extra_scalars_);
    remaining_ = gradients_.size();
    requests_.reserve(bucket_count() + 1);
    if constexpr (narrows) {
      narrow_gradients_.resize(gradients_.size());
    }
  }

  /// Starts the complete buckets, and makes progress on pending ones.
  /// @pre follows `begin`
  void on_completion(std::size_t first) override {
    pause_thread();
    if (!pending_scalars_.empty() && first <= gradients_.size()) {
      requests_.push_back(collectives_.start_sum(pending_scalars_));
      pending_scalars_ = {};
    }
    if (remaining_ > first) {
      for (std::size_t begin = next_begin(); remaining_ != 0 && begin >= first; begin = next_begin()) {
        requests_.push_back(gradient_sum_.start(to_sent_type(begin, remaining_ - begin)));
        remaining_ = begin;
      }
    }
    if (!requests_.empty()) {
      collectives_.world().poll();
    }
    resume_thread();
  }

  /// Completes the sums in the gradient buffer.
  /// @throws error if a bucket's allreduce has failed; the buffer is then undefined
  void finish() override {
    on_completion(0);
    pause_thread();
    for (auto& pending : requests_) {
      pending.wait();
    }
    requests_.clear();
    if constexpr (narrows) {
      detail::widen<sent_type>(narrow_gradients_, gradients_);
    }
  }

 private:
  /// A progress thread, and the lock that keeps it off the communicator.
  struct thread_and_lock {
    explicit thread_and_lock(Communicator& world) : thread(world), lock(thread.pause()) {}

    progress_thread<Communicator> thread;
    std::unique_lock<std::mutex> lock;
  };

  void pause_thread() {
    if (progress_thread_ && !progress_thread_->lock.owns_lock()) {
      progress_thread_->lock = progress_thread_->thread.pause();
    }
  }
  /// Lets the thread run if operations are pending.
  void resume_thread() {
    if (progress_thread_ && !requests_.empty()) {
      progress_thread_->lock.unlock();
    }
  }

  /// Returns gradients in the type that is sent.
  [[nodiscard]] std::span<sent_type> to_sent_type(std::size_t first, std::size_t n) {
    if constexpr (narrows) {
      auto const part = std::span(narrow_gradients_).subspan(first, n);
      detail::narrow<sent_type>(gradients_.subspan(first, n), part);
      return part;
    } else {
      return gradients_.subspan(first, n);
    }
  }

  /// The numbers of each bucket but the first and the last, which takes the rest.
  [[nodiscard]] std::size_t bucket_length() const noexcept {
    return bucket_ == 0 ? gradients_.size() : (std::max)(bucket_ / sizeof(sent_type), std::size_t{1});
  }
  [[nodiscard]] std::size_t first_bucket_length() const noexcept {
    return bucket_ == 0 ? gradients_.size() : (std::min)(bucket_length(), first_bucket / sizeof(sent_type));
  }
  [[nodiscard]] std::size_t bucket_count() const noexcept {
    return gradients_.size() <= first_bucket_length()
               ? 1
               : 2 + (gradients_.size() - first_bucket_length() - 1) / bucket_length();
  }
  /// The beginning of the next bucket.
  [[nodiscard]] std::size_t next_begin() const noexcept {
    std::size_t const length = remaining_ == gradients_.size() ? first_bucket_length() : bucket_length();
    return remaining_ - (std::min)(remaining_, length);
  }

  detail::group_operations<Communicator, Topology> collectives_;
  allreduce<Communicator, Topology, Reduction> gradient_sum_;
  std::size_t bucket_;
  std::size_t extra_scalars_;
  std::span<float> gradients_;                      // gradients in the gradient buffer
  std::span<float> pending_scalars_;                // extra scalars, until their sum is started
  std::vector<sent_type> narrow_gradients_;         // gradients in the type that is sent, if not floats
  std::size_t remaining_ = 0;                       // numbers in front that belong to no bucket yet
  std::vector<request> requests_;                   // requests, oldest first
  std::optional<thread_and_lock> progress_thread_;  // destroyed before requests_
};

}  // namespace tutti::nn

#ifdef TUTTI_SEPARATE_COMPILATION
namespace tutti::inline v0_1_0 {
extern template struct detail::payload::code_of<sum<half>>;
extern template struct detail::payload::code_of<sum<bfloat16>>;
extern template struct detail::payload::code_of<accumulate_in<float, sum<half>>>;
extern template struct detail::payload::code_of<accumulate_in<float, sum<bfloat16>>>;
}  // namespace tutti
#endif
