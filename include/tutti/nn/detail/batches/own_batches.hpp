// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/data/sampler.hpp>
#include <tutti/nn/schedule/batch_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline batches {

/// A rank's part of each batch of an epoch: assigned in each epoch by a `sampler`, or taken from the rank's own
/// images.
///
/// A rank shuffles its own images in each epoch and divides them into as many parts as the epoch has batches, so all
/// ranks make equally many steps, with parts proportional to their images. (With parts of one size and a proportional
/// number of steps, averages of weights would favour the ranks with more steps: Wang, Liu, Liang, Joshi, Poor,
/// "Tackling the objective inconsistency problem in heterogeneous federated optimization", NeurIPS 2020) A batch
/// consists of all ranks' parts.
class own_batches {
 public:
  /// @param labels labels of all samples
  own_batches(std::span<std::uint8_t const> labels, settings const& settings, rank_type rank, rank_type size);

  /// Changes the rank and the number of ranks.
  /// @pre images are shared
  void set_rank(rank_type rank, rank_type size);

  /// Begins an epoch, with batches of this size. No allocation.
  void start(std::uint64_t epoch, std::size_t batch);

  [[nodiscard]] std::size_t batches() const noexcept { return (samples_ + batch_ - 1) / batch_; }

  /// The number of samples of batch b, over all ranks.
  [[nodiscard]] std::size_t size(std::size_t b) const noexcept;
  /// This rank's part of batch b.
  [[nodiscard]] std::span<std::uint32_t const> part(std::size_t b) const noexcept;
  /// The number of samples of batch b on ranks before this one.
  [[nodiscard]] std::size_t offset(std::size_t b) const noexcept;

  /// The largest number of samples of this rank in a batch of the training; at least 1.
  [[nodiscard]] std::size_t max_part_size(batch_plan const& plan) const noexcept;
  /// True if each rank has a sample in each batch of the training.
  [[nodiscard]] bool all_ranks_always(batch_plan const& plan) const;

 private:
  [[nodiscard]] std::size_t offset(std::size_t b, rank_type rank) const noexcept;

  rank_type rank_;
  rank_type size_;
  std::size_t unit_;  // consecutive samples that stay on one rank, if images are shared
  std::size_t samples_;
  std::size_t batch_;
  std::uint64_t seed_;
  std::optional<sampler> sampler_;         // sampler of shared images; otherwise empty
  std::vector<std::size_t> image_counts_;  // number of each rank's own images
  std::vector<std::uint32_t> images_;      // own images of this rank
  std::vector<std::uint32_t> order_;       // own images in the order of this epoch
};

}  // namespace tutti::nn::detail::batches

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/batches/own_batches.ipp>
#endif
