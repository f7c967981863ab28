// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline strategy {

/// Block floating point: exponents shared by the numbers of a block, for several buckets. A block is multiplied by
/// the power of two that makes the largest number of all ranks less than 2^30 / ranks, rounded down to a power of
/// two: the range of fixed_point_sum with a factor of 1.
class block_exponents {
 public:
  void resize(std::size_t buckets, std::size_t blocks) {
    blocks_ = blocks;
    sizes_.resize(buckets * blocks);
  }

  /// The largest magnitude of each block of a bucket, as input of the maximum over all ranks; NaN if any number is.
  [[nodiscard]] std::span<float> measure(std::size_t bucket, std::span<float const> numbers, std::size_t block) {
    auto const sizes = block_sizes(bucket, numbers.size(), block);
    for (std::size_t b = 0; b != sizes.size(); ++b) {
      std::uint32_t largest = 0;  // magnitudes are ordered like their bits, infinity and NaN above all numbers
      for (float const x : block_of(numbers, b, block)) {
        largest = (std::max)(largest, std::bit_cast<std::uint32_t>(x) & 0x7fffffffU);
      }
      sizes[b] = std::bit_cast<float>(largest);
    }
    return sizes;
  }

  /// Scales the numbers, after the maximum over all ranks. Blocks with infinities or NaN become NaN.
  void scale(std::size_t bucket, std::span<float const> values, std::span<float> scaled_values, std::size_t block,
             rank_type ranks) {
    auto const sizes = block_sizes(bucket, values.size(), block);
    for (std::size_t b = 0; b != sizes.size(); ++b) {
      double const factor = power_of_two(shift(sizes[b], ranks));
      bool const finite = sizes[b] <= (std::numeric_limits<float>::max)();
      auto const scaled_block = block_of(scaled_values, b, block);
      std::ranges::transform(block_of(values, b, block), scaled_block.begin(), [=](float x) {
        return finite ? static_cast<float>(double{x} * factor) : std::numeric_limits<float>::quiet_NaN();
      });
    }
  }
  void scale_back(std::size_t bucket, std::span<float> sums, std::size_t block, rank_type ranks) {
    auto const sizes = block_sizes(bucket, sums.size(), block);
    for (std::size_t b = 0; b != sizes.size(); ++b) {
      double const factor = power_of_two(-shift(sizes[b], ranks));
      for (float& x : block_of(sums, b, block)) {
        x = static_cast<float>(double{x} * factor);
      }
    }
  }

 private:
  [[nodiscard]] std::span<float> block_sizes(std::size_t bucket, std::size_t numbers, std::size_t block) {
    return std::span(sizes_).subspan(bucket * blocks_, (numbers + block - 1) / block);
  }
  template <class T>
  [[nodiscard]] static std::span<T> block_of(std::span<T> numbers, std::size_t b, std::size_t block) {
    return numbers.subspan(b * block, (std::min)(block, numbers.size() - b * block));
  }

  /// The exponent of the factor for numbers up to this magnitude; arbitrary for NaN, infinity and zero.
  [[nodiscard]] static int shift(float size, rank_type ranks) noexcept {
    auto const bits = std::bit_cast<std::uint32_t>(size);
    int const exponent = bits >> 23 == 0 ? -126 : static_cast<int>(bits >> 23) - 126;  // size < 2^exponent
    return 30 - static_cast<int>(std::bit_width(ranks - 1)) - exponent;
  }
  [[nodiscard]] static double power_of_two(int exponent) noexcept {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }

  std::size_t blocks_ = 0;  ///< number of blocks of the longest bucket
  std::vector<float> sizes_;
};

}  // namespace tutti::nn::detail::strategy
