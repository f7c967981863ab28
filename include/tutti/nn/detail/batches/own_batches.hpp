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

/// A rank's part of each batch of an epoch: dealt out anew by a `sampler`, or from images that are its own for good.
///
/// A rank shuffles images of its own in each epoch and cuts them into as many parts as an epoch has batches, so all
/// ranks make the same number of steps, each with a part as large as its share of the images. (With parts of
/// one size and steps in proportion, means of weights would pull towards the ranks that made more: Wang, Liu, Liang,
/// Joshi, Poor, "Tackling the objective inconsistency problem in heterogeneous federated optimization", NeurIPS 2020)
/// The batch is all ranks' parts together.
class own_batches {
 public:
  /// @param labels of all samples
  own_batches(std::span<std::uint8_t const> labels, settings const& settings, rank_type rank, rank_type size);

  /// From now on this is another rank, or one of another number.
  /// @pre images are shared
  void set_rank(rank_type rank, rank_type size);

  /// The images of an epoch, in batches of this many. No allocation.
  void start(std::uint64_t epoch, std::size_t batch);

  [[nodiscard]] std::size_t batches() const noexcept { return (samples_ + batch_ - 1) / batch_; }

  /// Samples of batch b, all ranks together.
  [[nodiscard]] std::size_t size(std::size_t b) const noexcept;
  /// This rank's part of it.
  [[nodiscard]] std::span<std::uint32_t const> own(std::size_t b) const noexcept;
  /// How many samples of it are of ranks before this one.
  [[nodiscard]] std::size_t before(std::size_t b) const noexcept;

  /// Most samples of this rank in a batch of a training; at least 1.
  [[nodiscard]] std::size_t most(batch_plan const& plan) const noexcept;
  /// Whether each rank has a sample in each batch of a training.
  [[nodiscard]] bool all_ranks_always(batch_plan const& plan) const;

 private:
  [[nodiscard]] std::size_t before(std::size_t b, rank_type rank) const noexcept;

  rank_type rank_;
  rank_type size_;
  std::size_t unit_;  // samples that no two ranks share, if they are dealt out
  std::size_t samples_;
  std::size_t batch_;
  std::uint64_t seed_;
  std::optional<sampler> dealt_;       // if images are shared; or else:
  std::vector<std::size_t> owned_;     // how many each rank has
  std::vector<std::uint32_t> images_;  // this rank's
  std::vector<std::uint32_t> order_;   // and their order in this epoch
};

}  // namespace tutti::nn::detail::batches

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/batches/own_batches.ipp>
#endif
