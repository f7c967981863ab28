// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/neighbours.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::nn::detail::inline strategy {

/// The neighbours of one rank. A rank sends to as many ranks as it receives from, with equal weights: averaging is
/// doubly stochastic, and preserves the sum over all ranks.
///
/// In the exponential graph, of Assran, Loizou, Ballas, Rabbat, "Stochastic gradient push for distributed deep
/// learning", ICML 2019, the weights of every rank have reached every other after log2 n steps, rounded up; if n is a
/// power of two, all are then equal to the mean.
class neighbourhood {
 public:
  static constexpr std::size_t max_count = 2;

  constexpr neighbourhood(neighbours graph, rank_type rank, rank_type size) noexcept
      : graph_(graph), rank_(rank), size_(size) {}

  /// The number of messages that a rank sends, and receives, in one exchange.
  [[nodiscard]] constexpr std::size_t count() const noexcept {
    return size_ == 1 ? 0 : graph_ == neighbours::ring && size_ > 2 ? 2 : 1;
  }
  /// The weight of each neighbour in the mean; the own weight is the rest.
  [[nodiscard]] constexpr float weight() const noexcept { return 1.0F / static_cast<float>(count() + 1); }

  /// @pre i < count()
  [[nodiscard]] constexpr rank_type target(std::size_t i, std::uint64_t step) const noexcept {
    return (rank_ + distance(i, step)) % size_;
  }
  [[nodiscard]] constexpr rank_type source(std::size_t i, std::uint64_t step) const noexcept {
    return (rank_ + size_ - distance(i, step)) % size_;
  }

 private:
  [[nodiscard]] constexpr rank_type distance(std::size_t i, std::uint64_t step) const noexcept {
    if (graph_ == neighbours::ring) {
      return i == 0 ? 1 : size_ - 1;
    }
    return rank_type{1} << (step % tutti::detail::integer_cast<unsigned>(std::bit_width(size_ - 1)));
  }

  neighbours graph_;
  rank_type rank_;
  rank_type size_;
};

}  // namespace tutti::nn::detail::strategy
