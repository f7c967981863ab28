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
                       bucket_progress how = bucket_progress::between_layers, Reduction reduction = {},
                       std::size_t extra_scalars = 0)
      : all_(world, topology),
        sum_gradients_(world, topology, reduction),
        bucket_(bucket),
        extra_scalars_(narrows ? extra_scalars : 0) {
    if (how == bucket_progress::by_thread) {
      helper_.emplace(world);
    }
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return all_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return all_.size(); }

  /// Cost: one broadcast.
  void broadcast(std::span<float> numbers) override {
    take_world();
    all_.broadcast(numbers);
  }

  /// Cost: one allreduce.
  void sum(std::span<float> numbers) override {
    take_world();
    all_.sum(numbers);
    release_world();
  }

  /// Cost: no allocation from the second buffer of a size on.
  /// @pre the gradient buffer outlives `finish`, or the strategy
  void begin(std::span<float> message) override {
    take_world();
    under_way_.clear();  // requests of a failed step
    expects(message.size() >= extra_scalars_, "synchronous: a message of ", message.size(), " numbers is shorter than the ",
            extra_scalars_, " attached ones");
    message_ = message.first(message.size() - extra_scalars_);
    behind_ = message.last(extra_scalars_);
    waiting_ = message_.size();
    under_way_.reserve(count() + 1);
    if constexpr (narrows) {
      narrow_.resize(message_.size());
    }
  }

  /// Starts the complete buckets, and makes progress on pending ones.
  /// @pre follows `begin`
  void on_completion(std::size_t first) override {
    take_world();
    if (!behind_.empty() && first <= message_.size()) {
      under_way_.push_back(all_.start_sum(behind_));
      behind_ = {};
    }
    if (waiting_ > first) {
      for (std::size_t cut = next_cut(); waiting_ != 0 && cut >= first; cut = next_cut()) {
        under_way_.push_back(sum_gradients_.start(made_ready(cut, waiting_ - cut)));
        waiting_ = cut;
      }
    }
    if (!under_way_.empty()) {
      all_.world().poll();
    }
    release_world();
  }

  /// Completes the sums in the gradient buffer.
  /// @throws error if a bucket's allreduce has failed; the buffer is then undefined
  void finish() override {
    on_completion(0);
    take_world();
    for (auto& one : under_way_) {
      one.wait();
    }
    under_way_.clear();
    if constexpr (narrows) {
      detail::widen<sent_type>(narrow_, message_);
    }
  }

 private:
  /// A progress thread, and the lock that keeps it off the communicator.
  struct helper {
    explicit helper(Communicator& world) : thread(world), lock(thread.pause()) {}

    progress_thread<Communicator> thread;
    std::unique_lock<std::mutex> lock;
  };

  void take_world() {
    if (helper_ && !helper_->lock.owns_lock()) {
      helper_->lock = helper_->thread.pause();
    }
  }
  /// Lets the thread run if operations are pending.
  void release_world() {
    if (helper_ && !under_way_.empty()) {
      helper_->lock.unlock();
    }
  }

  /// Returns gradients in the type that is sent.
  [[nodiscard]] std::span<sent_type> made_ready(std::size_t first, std::size_t n) {
    if constexpr (narrows) {
      auto const part = std::span(narrow_).subspan(first, n);
      detail::narrow<sent_type>(message_.subspan(first, n), part);
      return part;
    } else {
      return message_.subspan(first, n);
    }
  }

  /// The numbers of each bucket but the first and the last, which takes the rest.
  [[nodiscard]] std::size_t numbers() const noexcept {
    return bucket_ == 0 ? message_.size() : (std::max)(bucket_ / sizeof(sent_type), std::size_t{1});
  }
  [[nodiscard]] std::size_t first_numbers() const noexcept {
    return bucket_ == 0 ? message_.size() : (std::min)(numbers(), first_bucket / sizeof(sent_type));
  }
  [[nodiscard]] std::size_t count() const noexcept {
    return message_.size() <= first_numbers() ? 1 : 2 + (message_.size() - first_numbers() - 1) / numbers();
  }
  /// The beginning of the next bucket.
  [[nodiscard]] std::size_t next_cut() const noexcept {
    std::size_t const most = waiting_ == message_.size() ? first_numbers() : numbers();
    return waiting_ - (std::min)(waiting_, most);
  }

  detail::group_operations<Communicator, Topology> all_;
  allreduce<Communicator, Topology, Reduction> sum_gradients_;
  std::size_t bucket_;
  std::size_t extra_scalars_;
  std::span<float> message_;        // gradients in the gradient buffer
  std::span<float> behind_;         // extra scalars, until their sum is started
  std::vector<sent_type> narrow_;   // gradients in the type that is sent, if not floats
  std::size_t waiting_ = 0;         // numbers in front that belong to no bucket yet
  std::vector<request> under_way_;  // requests, oldest first
  std::optional<helper> helper_;    // destroyed before under_way_
};

}  // namespace tutti::nn

#ifdef TUTTI_SEPARATE_COMPILATION
namespace tutti::inline v0_1_0 {
extern template struct detail::payload::by<sum<half>>;
extern template struct detail::payload::by<sum<bfloat16>>;
extern template struct detail::payload::by<accumulate_in<float, sum<half>>>;
extern template struct detail::payload::by<accumulate_in<float, sum<bfloat16>>>;
}  // namespace tutti
#endif
