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
  fixed_point(Communicator& world, Topology topology, fixed_point_scale scale, std::size_t bucket, std::size_t extra_scalars)
      : all_(world, topology),
        sum_(world, topology, fixed_point_sum{factor_of(scale), world.size()}),
        largest_(world, topology, max<float>{}),
        block_(block_of(scale)),
        bucket_(bucket),
        extra_scalars_(extra_scalars) {}

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept override { return all_.rank(); }
  [[nodiscard]] rank_type size() const noexcept override { return all_.size(); }
  /// The number of sums repeated as floats, in all steps so far; equal on all ranks.
  [[nodiscard]] std::uint64_t const& overflows() const noexcept { return overflows_; }

  /// Cost: one broadcast.
  void broadcast(std::span<float> numbers) override { all_.broadcast(numbers); }
  /// Sums floats. Cost: one allreduce.
  void sum(std::span<float> numbers) override { all_.sum(numbers); }

  /// Cost: no allocation from the second buffer of a size on.
  /// @pre the gradient buffer outlives `finish`, or the strategy
  void begin(std::span<float> message) override {
    expects(message.size() >= extra_scalars_, "fixed_point: a message of ", message.size(), " numbers is shorter than the ",
            extra_scalars_, " attached ones");
    maxima_under_way_.clear();  // requests of a failed step
    sums_under_way_.clear();
    message_ = message.first(message.size() - extra_scalars_);
    behind_ = message.last(extra_scalars_);
    complete_from_ = message.size();
    std::size_t const most = bucket_ == 0 ? message_.size() : bucket_ / sizeof(float);
    numbers_ = (std::max)(most, std::size_t{1});
    buckets_ = (message_.size() + numbers_ - 1) / numbers_;
    sums_.resize(message_.size());
    maxima_under_way_.reserve(buckets_);
    sums_under_way_.reserve(buckets_);
    if (block_ != 0) {
      exponents_.resize(buckets_, ((std::min)(numbers_, message_.size()) + block_ - 1) / block_);
    }
  }

  /// Starts the operations that are ready, and makes progress on pending ones.
  /// @pre follows `begin`
  void on_completion(std::size_t first) override {
    complete_from_ = (std::min)(complete_from_, first);
    start(waiting::no);
    all_.world().poll();
  }

  /// Completes the sums in the gradient buffer.
  /// @throws error if an allreduce has failed; the buffer is then undefined
  void finish() override {
    complete_from_ = 0;
    start(waiting::yes);
    for (auto& one : sums_under_way_) {
      one.wait();
    }
    sum_of_behind_.wait();
    sum_again();
  }

 private:
  enum class waiting : bool { no, yes };

  [[nodiscard]] static float factor_of(fixed_point_scale const& scale) {
    auto const* const constant = std::get_if<constant_factor>(&scale);
    return constant != nullptr ? constant->factor : 1;
  }
  [[nodiscard]] static std::size_t block_of(fixed_point_scale const& scale) {
    auto const* const shared = std::get_if<shared_exponents>(&scale);
    expects(shared == nullptr || shared->block != 0, "fixed_point: an exponent must be shared by 1 number or more");
    return shared == nullptr ? 0 : shared->block;
  }

  // Bucket 0 is at the end of the buffer.
  [[nodiscard]] std::size_t end_of(std::size_t bucket) const noexcept { return message_.size() - bucket * numbers_; }
  [[nodiscard]] std::size_t begin_of(std::size_t bucket) const noexcept {
    std::size_t const end = end_of(bucket);
    return end - (std::min)(end, numbers_);
  }
  template <class T>
  [[nodiscard]] std::span<T> part(std::span<T> all, std::size_t bucket) const noexcept {
    return all.subspan(begin_of(bucket), end_of(bucket) - begin_of(bucket));
  }

  /// Starts the operations that are ready. All ranks start the same ones in the same order: the sum of the extra
  /// scalars, then the maxima of each bucket before the sum of the previous one.
  void start(waiting how) {
    if (!behind_.empty()) {
      sum_of_behind_ = all_.start_sum(behind_);
      behind_ = {};
    }
    while (sums_under_way_.size() != buckets_) {
      std::size_t const next = maxima_under_way_.size();
      bool const looks_ahead = next != buckets_ && next <= sums_under_way_.size() + (block_ != 0 ? 1 : 0);
      if (looks_ahead ? !start_maxima(next) : !start_sum(sums_under_way_.size(), how)) {
        return;
      }
    }
  }
  /// Starts the maxima of a bucket; false if its gradients are not final.
  bool start_maxima(std::size_t bucket) {
    if (begin_of(bucket) < complete_from_) {
      return false;
    }
    maxima_under_way_.emplace_back();
    if (block_ != 0) {
      auto const sizes = exponents_.measure(bucket, part(std::span<float const>(message_), bucket), block_);
      maxima_under_way_.back() = largest_.start(sizes);
    }
    return true;
  }
  bool start_sum(std::size_t bucket, waiting how) {
    request& sizes = maxima_under_way_[bucket];
    if (how == waiting::yes) {
      sizes.wait();
    } else if (!sizes.test()) {
      return false;
    }
    auto const own = part(std::span<float const>(message_), bucket);
    auto const to = part(std::span(sums_), bucket);
    if (block_ == 0) {
      sums_under_way_.push_back(sum_.start(own, to));
    } else {
      exponents_.scale(bucket, own, to, block_, size());
      sums_under_way_.push_back(sum_.start(to));
    }
    return true;
  }

  /// Repeats the sums that overflowed, and writes all sums to the gradient buffer, which has this rank's gradients
  /// until now.
  void sum_again() {
    again_.clear();
    for (std::size_t i = 0; i != sums_.size(); ++i) {
      if (std::isnan(sums_[i])) {
        again_.push_back(message_[i]);
      }
    }
    if (!again_.empty()) {
      overflows_ += again_.size();
      all_.sum(again_);
    }
    for (std::size_t bucket = 0; block_ != 0 && bucket != buckets_; ++bucket) {
      exponents_.scale_back(bucket, part(std::span(sums_), bucket), block_, size());
    }
    std::size_t taken = 0;
    for (std::size_t i = 0; i != sums_.size(); ++i) {
      message_[i] = std::isnan(sums_[i]) ? again_[taken++] : sums_[i];
    }
  }

  detail::group_operations<Communicator, Topology> all_;
  allreduce<Communicator, Topology, fixed_point_sum> sum_;
  allreduce<Communicator, Topology, max<float>> largest_;
  std::size_t block_;  ///< numbers that share an exponent; 0: all share the factor
  std::size_t bucket_;
  std::size_t extra_scalars_;
  std::span<float> message_;  // gradients in the gradient buffer
  std::span<float> behind_;   // extra scalars, until their sum is started
  std::size_t complete_from_ = 0;
  std::size_t numbers_ = 1;  // numbers of a bucket
  std::size_t buckets_ = 0;
  std::vector<float> sums_;  // sums from integers, NaN where they overflowed
  detail::block_exponents exponents_;
  std::vector<request> maxima_under_way_;
  std::vector<request> sums_under_way_;
  request sum_of_behind_;
  std::vector<float> again_;  // this rank's terms, then the sums, of elements that overflowed
  std::uint64_t overflows_ = 0;
};

}  // namespace tutti::nn

#ifdef TUTTI_SEPARATE_COMPILATION
namespace tutti::inline v0_1_0 {
extern template struct detail::payload::by<fixed_point_sum>;
}  // namespace tutti
#endif
