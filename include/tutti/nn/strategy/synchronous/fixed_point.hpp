// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/strategy/block_exponents.hpp>
#include <tutti/nn/detail/strategy/group_operations.hpp>
#include <tutti/nn/extend/strategy.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/fixed_point_sum.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// One factor by which all numbers are multiplied before they are rounded to integers.
struct constant_factor {
  float factor = 1e6F;  ///< factor of the gradients
};

/// A power of two for each block of numbers: the largest that overflows on no rank, found by an allreduce of the
/// largest magnitudes.
struct shared_exponents {
  std::size_t block = 256;  ///< number of gradients that share an exponent
};

/// The conversion of numbers to integers.
using fixed_point_scale = std::variant<constant_factor, shared_exponents>;

/// Synchronous training whose gradients are summed as integers, as by programmable switches: see fixed_point_sum.
/// Sums that overflow, which all ranks see, are repeated with floats at the end of the step. The extra scalars are
/// summed as floats.
///
/// With shared exponents the sum of a bucket starts when the exponents of all ranks are known; meanwhile those of the
/// next bucket are agreed on. Cost: an additional allreduce of one number in `block`, before the sum. Only NaN and
/// infinity overflow there: then their whole block does.
///
/// Sources: Lao and others, "ATP", NSDI 2021 (a constant factor, overflows repeated as floats); Sapio and others,
/// "SwitchML", NSDI 2021 (exponents agreed on one packet ahead).
template <class Communicator, offers<op::allreduce> Topology>
class fixed_point : public summing_strategy {
 public:
  /// @param bucket largest size of a bucket in bytes, equal on all ranks; 0: one bucket
  /// @param extra_scalars number of extra scalars at the end of the gradient buffer
  /// @pre the communicator outlives the strategy
  /// @throws precondition_error for a factor that fixed_point_sum refuses, and empty blocks
  fixed_point(Communicator& world, Topology topology, fixed_point_scale scale, std::size_t bucket,
              std::size_t extra_scalars)
      : collectives_(world, topology),
        sum_(world, topology, fixed_point_sum{factor_of(scale), world.size()}),
        maximum_(world, topology, max<float>{}),
        block_(block_of(scale)),
        bucket_(bucket),
        extra_scalars_(extra_scalars) {}

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return collectives_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return collectives_.size(); }
  /// The number of sums repeated as floats, in all steps so far; equal on all ranks.
  [[nodiscard]] std::uint64_t const& overflows() const noexcept { return overflows_; }

  /// Cost: one broadcast.
  void broadcast(std::span<float> numbers) override { collectives_.broadcast(numbers); }
  /// Sums floats. Cost: one allreduce.
  void sum(std::span<float> numbers) override { collectives_.sum(numbers); }

  /// Cost: no allocation from the second buffer of a size on.
  /// @pre the gradient buffer outlives `finish`, or the strategy
  void begin(std::span<float> gradient_buffer) override {
    expects(gradient_buffer.size() >= extra_scalars_, "fixed_point: a gradient buffer of ", gradient_buffer.size(),
            " numbers must have at least the ", extra_scalars_, " extra scalars");
    maxima_requests_.clear();  // requests of a failed step
    sum_requests_.clear();
    gradients_ = gradient_buffer.first(gradient_buffer.size() - extra_scalars_);
    pending_scalars_ = gradient_buffer.last(extra_scalars_);
    final_begin_ = gradient_buffer.size();
    std::size_t const length = bucket_ == 0 ? gradients_.size() : bucket_ / sizeof(float);
    bucket_length_ = (std::max)(length, std::size_t{1});
    buckets_ = (gradients_.size() + bucket_length_ - 1) / bucket_length_;
    sums_.resize(gradients_.size());
    maxima_requests_.reserve(buckets_);
    sum_requests_.reserve(buckets_);
    if (block_ != 0) {
      exponents_.resize(buckets_, ((std::min)(bucket_length_, gradients_.size()) + block_ - 1) / block_);
    }
  }

  /// Starts the operations that are ready, and makes progress on pending ones.
  /// @pre follows `begin`
  void on_completion(std::size_t first) override {
    final_begin_ = (std::min)(final_begin_, first);
    start(waiting::no);
    collectives_.world().poll();
  }

  /// Completes the sums in the gradient buffer.
  /// @throws error if an allreduce has failed; the buffer is then undefined
  void finish() override {
    final_begin_ = 0;
    start(waiting::yes);
    for (auto& pending : sum_requests_) {
      pending.wait();
    }
    scalars_request_.wait();
    repeat_overflows();
  }

 private:
  enum class waiting : bool { no, yes };

  [[nodiscard]] static float factor_of(fixed_point_scale const& scale) {
    auto const* const constant = std::get_if<constant_factor>(&scale);
    return constant != nullptr ? constant->factor : 1;
  }
  [[nodiscard]] static std::size_t block_of(fixed_point_scale const& scale) {
    auto const* const exponents = std::get_if<shared_exponents>(&scale);
    expects(exponents == nullptr || exponents->block != 0,
            "fixed_point: an exponent must be shared by 1 number or more");
    return exponents == nullptr ? 0 : exponents->block;
  }

  // Bucket 0 is at the end of the buffer.
  [[nodiscard]] std::size_t end_of(std::size_t bucket) const noexcept {
    return gradients_.size() - bucket * bucket_length_;
  }
  [[nodiscard]] std::size_t begin_of(std::size_t bucket) const noexcept {
    std::size_t const end = end_of(bucket);
    return end - (std::min)(end, bucket_length_);
  }
  template <class T>
  [[nodiscard]] std::span<T> part(std::span<T> values, std::size_t bucket) const noexcept {
    return values.subspan(begin_of(bucket), end_of(bucket) - begin_of(bucket));
  }

  /// Starts the operations that are ready. All ranks start the same ones in the same order: the sum of the extra
  /// scalars, then the maxima of each bucket before the sum of the previous one.
  void start(waiting mode) {
    if (!pending_scalars_.empty()) {
      scalars_request_ = collectives_.start_sum(pending_scalars_);
      pending_scalars_ = {};
    }
    while (sum_requests_.size() != buckets_) {
      std::size_t const next = maxima_requests_.size();
      bool const is_maxima_turn = next != buckets_ && next <= sum_requests_.size() + (block_ != 0 ? 1 : 0);
      if (is_maxima_turn ? !start_maxima(next) : !start_sum(sum_requests_.size(), mode)) {
        return;
      }
    }
  }
  /// Starts the maxima of a bucket; false if its gradients are not final.
  bool start_maxima(std::size_t bucket) {
    if (begin_of(bucket) < final_begin_) {
      return false;
    }
    maxima_requests_.emplace_back();
    if (block_ != 0) {
      auto const sizes = exponents_.measure(bucket, part(std::span<float const>(gradients_), bucket), block_);
      maxima_requests_.back() = maximum_.start(sizes);
    }
    return true;
  }
  bool start_sum(std::size_t bucket, waiting mode) {
    request& sizes = maxima_requests_[bucket];
    if (mode == waiting::yes) {
      sizes.wait();
    } else if (!sizes.test()) {
      return false;
    }
    auto const local_gradients = part(std::span<float const>(gradients_), bucket);
    auto const sums = part(std::span(sums_), bucket);
    if (block_ == 0) {
      sum_requests_.push_back(sum_.start(local_gradients, sums));
    } else {
      exponents_.scale(bucket, local_gradients, sums, block_, size());
      sum_requests_.push_back(sum_.start(sums));
    }
    return true;
  }

  /// Repeats the sums that overflowed, and writes all sums to the gradient buffer, which has this rank's gradients
  /// until now.
  void repeat_overflows() {
    repeated_values_.clear();
    for (std::size_t i = 0; i != sums_.size(); ++i) {
      if (std::isnan(sums_[i])) {
        repeated_values_.push_back(gradients_[i]);
      }
    }
    if (!repeated_values_.empty()) {
      overflows_ += repeated_values_.size();
      collectives_.sum(repeated_values_);
    }
    for (std::size_t bucket = 0; block_ != 0 && bucket != buckets_; ++bucket) {
      exponents_.scale_back(bucket, part(std::span(sums_), bucket), block_, size());
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i != sums_.size(); ++i) {
      gradients_[i] = std::isnan(sums_[i]) ? repeated_values_[next++] : sums_[i];
    }
  }

  detail::group_operations<Communicator, Topology> collectives_;
  allreduce<Communicator, Topology, fixed_point_sum> sum_;
  allreduce<Communicator, Topology, max<float>> maximum_;
  std::size_t block_;  ///< numbers that share an exponent; 0: all share the factor
  std::size_t bucket_;
  std::size_t extra_scalars_;
  std::span<float> gradients_;        // gradients in the gradient buffer
  std::span<float> pending_scalars_;  // extra scalars, until their sum is started
  std::size_t final_begin_ = 0;
  std::size_t bucket_length_ = 1;  // numbers of a bucket
  std::size_t buckets_ = 0;
  std::vector<float> sums_;  // sums from integers, NaN where they overflowed
  detail::block_exponents exponents_;
  std::vector<request> maxima_requests_;
  std::vector<request> sum_requests_;
  request scalars_request_;
  std::vector<float> repeated_values_;  // this rank's terms, then the sums, of elements that overflowed
  std::uint64_t overflows_ = 0;
};

}  // namespace tutti::nn

#ifdef TUTTI_SEPARATE_COMPILATION
namespace tutti::inline v0_1_0 {
extern template struct detail::payload::code_of<fixed_point_sum>;
}  // namespace tutti
#endif
