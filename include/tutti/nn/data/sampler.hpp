// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// One rank's contiguous part of `count` things; groups of `unit` things stay together.
struct portion {
  /// Computes the part of `rank`, in multiples of `unit`.
  constexpr portion(std::size_t count, rank_type rank, rank_type size, std::size_t unit = 1) noexcept
      : first((std::min)(count, block_begin((count + unit - 1) / unit, size, rank) * unit)),
        length((std::min)(count - first, block_size((count + unit - 1) / unit, size, rank) * unit)) {}

  std::size_t first;   ///< index of the first thing
  std::size_t length;  ///< number of things
};

/// The samples of each batch of an epoch, and each rank's part of them.
///
/// An epoch is one permutation of all samples, a function of the seed and the epoch. It is divided into global
/// batches (the last one may be shorter), and each batch into contiguous shards whose lengths differ by at most
/// one. So the batches do not depend on the number of ranks, and a mean over a batch is exact if each rank weights
/// its samples by 1 / batch, not by 1 / shard.
class sampler {
 public:
  /// Constructs a sampler of this many samples and batch size. Ranks with equal seeds have equal orders.
  sampler(std::size_t samples, std::size_t batch, std::uint64_t seed) : order_(samples), batch_(batch), seed_(seed) {
    expects(samples > 0 && samples <= UINT32_MAX, "sampler: the number of samples must be from 1 to 2^32 - 1, not ",
            samples);
    expects(batch > 0, "sampler: a batch must have at least 1 sample, not 0");
  }

  /// Shuffles for this epoch, with this batch size from now on.
  void start(std::uint64_t epoch, std::size_t batch) {
    expects(batch > 0, "sampler: a batch must have at least 1 sample, not 0");
    batch_ = batch;
    start(epoch);
  }

  /// Shuffles for this epoch. Cost: one pass, no allocation.
  void start(std::uint64_t epoch) noexcept {
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    random_sequence(seed_, epoch).shuffle(std::span(order_));
  }

  /// The number of batches of an epoch.
  [[nodiscard]] std::size_t batches() const noexcept { return (order_.size() + batch_ - 1) / batch_; }

  /// The samples of global batch b.
  [[nodiscard]] std::span<std::uint32_t const> batch(std::size_t b) const noexcept {
    std::size_t const first = b * batch_;
    return std::span(order_).subspan(first, (std::min)(batch_, order_.size() - first));
  }

  /// The part of batch b that belongs to one rank of `size`; empty if there are more ranks than samples.
  /// @param unit number of consecutive samples that belong to the same rank
  [[nodiscard]] std::span<std::uint32_t const> shard(std::size_t b, rank_type rank, rank_type size,
                                                     std::size_t unit = 1) const noexcept {
    auto const whole = batch(b);
    portion const part(whole.size(), rank, size, unit);
    return whole.subspan(part.first, part.length);
  }

 private:
  std::vector<std::uint32_t> order_;
  std::size_t batch_;
  std::uint64_t seed_;
};

}  // namespace tutti::nn
