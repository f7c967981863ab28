// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/detail/batches/own_batches.hpp>
#include <tutti/nn/detail/batches/partition.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::inline batches {

TUTTI_DECL own_batches::own_batches(std::span<std::uint8_t const> labels, settings const& settings, rank_type rank,
                                    rank_type size)
    : rank_(rank),
      size_(size),
      unit_(settings.reproducible ? (std::max)(settings.micro_batch, std::size_t{1}) : 1),
      samples_(labels.size()),
      batch_(settings.batch),
      seed_(settings.seed) {
  if (settings.images == ownership::common) {
    sampler_.emplace(samples_, batch_, seed_);
    return;
  }
  auto parts = partition(labels, settings.images, size, seed_);
  std::ranges::transform(parts, std::back_inserter(image_counts_), [](auto const& part) { return part.size(); });
  images_ = std::move(parts[rank]);
  order_ = images_;
}

TUTTI_DECL void own_batches::set_rank(rank_type rank, rank_type size) {
  expects(sampler_.has_value(),
          "own_batches: each image belongs to one rank for good; use ownership::common to divide images again");
  rank_ = rank;
  size_ = size;
}

TUTTI_DECL void own_batches::start(std::uint64_t epoch, std::size_t batch) {
  expects(batch > 0, "own_batches: a batch must have at least 1 sample, not 0");
  batch_ = batch;
  if (sampler_) {
    sampler_->start(epoch, batch);
  } else {
    std::ranges::copy(images_, order_.begin());
    random_sequence(seed_, epoch).shuffle(std::span(order_));
  }
}

TUTTI_DECL std::size_t own_batches::size(std::size_t b) const noexcept {
  return sampler_ ? sampler_->batch(b).size() : offset(b, size_);
}

TUTTI_DECL std::span<std::uint32_t const> own_batches::part(std::size_t b) const noexcept {
  return sampler_ ? sampler_->shard(b, rank_, size_, unit_)
                  : std::span(order_).subspan(block_begin(order_.size(), batches(), b),
                                              block_size(order_.size(), batches(), b));
}

TUTTI_DECL std::size_t own_batches::offset(std::size_t b) const noexcept {
  return sampler_ ? portion(sampler_->batch(b).size(), rank_, size_, unit_).first : offset(b, rank_);
}

TUTTI_DECL std::size_t own_batches::max_part_size(batch_plan const& plan) const noexcept {
  std::size_t const fewest = (samples_ + plan.largest() - 1) / plan.largest();
  return sampler_ ? portion(plan.largest(), 0, size_, unit_).length  // the first rank has the largest part
                  : std::max<std::size_t>(1, (images_.size() + fewest - 1) / fewest);
}

TUTTI_DECL bool own_batches::all_ranks_always(batch_plan const& plan) const {
  return sampler_ ? plan.smallest() >= size_ : (std::ranges::min)(image_counts_) >= plan.batches(0);
}

TUTTI_DECL std::size_t own_batches::offset(std::size_t b, rank_type rank) const noexcept {
  std::size_t sum = 0;
  for (rank_type r = 0; r != rank; ++r) {
    sum += block_size(image_counts_[r], batches(), b);
  }
  return sum;
}

}  // namespace tutti::nn::detail::batches
