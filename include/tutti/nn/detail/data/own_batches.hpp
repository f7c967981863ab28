// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/expects.hpp>
#include <tutti/nn/data/sampler.hpp>
#include <tutti/nn/detail/data/partition.hpp>
#include <tutti/nn/random.hpp>
#include <tutti/nn/schedule/batch_plan.hpp>
#include <tutti/nn/settings.hpp>
#include <tutti/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tutti::nn::detail {

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
  own_batches(std::span<std::uint8_t const> labels, settings const& settings, rank_type rank, rank_type size)
      : rank_(rank),
        size_(size),
        unit_(settings.reproducible ? std::max(settings.micro_batch, std::size_t{1}) : 1),
        samples_(labels.size()),
        batch_(settings.batch),
        seed_(settings.seed) {
    if (settings.images == ownership::shared) {
      dealt_.emplace(samples_, batch_, seed_);
      return;
    }
    auto parts = partition(labels, settings.images, size, seed_);
    std::ranges::transform(parts, std::back_inserter(owned_), [](auto const& part) { return part.size(); });
    images_ = std::move(parts[rank]);
    order_ = images_;
  }

  /// From now on this is another rank, or one of another number.
  /// @pre images are shared
  void set_rank(rank_type rank, rank_type size) {
    expects(dealt_.has_value(),
            "own_batches: the images belong to one rank each, so a rank keeps its part; use ownership::shared to "
            "divide them anew");
    rank_ = rank;
    size_ = size;
  }

  /// The images of an epoch, in batches of this many. No allocation.
  void start(std::uint64_t epoch, std::size_t batch) {
    expects(batch > 0, "own_batches: a batch must have at least 1 sample, not 0");
    batch_ = batch;
    if (dealt_) {
      dealt_->start(epoch, batch);
    } else {
      std::ranges::copy(images_, order_.begin());
      random_sequence(seed_, epoch).shuffle(std::span(order_));
    }
  }

  [[nodiscard]] std::size_t batches() const noexcept { return (samples_ + batch_ - 1) / batch_; }

  /// Samples of batch b, all ranks together.
  [[nodiscard]] std::size_t size(std::size_t b) const noexcept {
    return dealt_ ? dealt_->batch(b).size() : before(b, size_);
  }
  /// This rank's part of it.
  [[nodiscard]] std::span<std::uint32_t const> own(std::size_t b) const noexcept {
    return dealt_ ? dealt_->shard(b, rank_, size_, unit_)
                  : std::span(order_).subspan(block_begin(order_.size(), batches(), b),
                                              block_size(order_.size(), batches(), b));
  }
  /// How many samples of it are of ranks before this one.
  [[nodiscard]] std::size_t before(std::size_t b) const noexcept {
    return dealt_ ? portion(dealt_->batch(b).size(), rank_, size_, unit_).first : before(b, rank_);
  }

  /// Most samples of this rank in a batch of a training; at least 1.
  [[nodiscard]] std::size_t most(batch_plan const& plan) const noexcept {
    std::size_t const fewest = (samples_ + plan.largest() - 1) / plan.largest();
    return dealt_ ? portion(plan.largest(), 0, size_, unit_).length  // the first is no smaller
                  : std::max<std::size_t>(1, (images_.size() + fewest - 1) / fewest);
  }
  /// Whether each rank has a sample in each batch of a training.
  [[nodiscard]] bool all_ranks_always(batch_plan const& plan) const {
    return dealt_ ? plan.smallest() >= size_ : std::ranges::min(owned_) >= plan.batches(0);
  }

 private:
  [[nodiscard]] std::size_t before(std::size_t b, rank_type rank) const noexcept {
    std::size_t sum = 0;
    for (rank_type r = 0; r != rank; ++r) {
      sum += block_size(owned_[r], batches(), b);
    }
    return sum;
  }

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

}  // namespace tutti::nn::detail
