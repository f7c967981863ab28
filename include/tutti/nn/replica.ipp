// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL replica::replica(model<float> model, dataset const& training, dataset const& test,
                            nn::settings const& settings, rank_type rank, rank_type size)
    : replica(make_learner(std::move(model), settings), training, test, settings, rank, size) {}

TUTTI_DECL replica::replica(std::unique_ptr<learner> learner, dataset const& training, dataset const& test,
                            nn::settings const& settings, rank_type rank, rank_type size)
    : learner_(std::move(learner)),
      settings_(settings),
      rank_(rank),
      size_(size),
      plan_(settings, training.size()),
      batches_(training.labels, settings, rank, size),
      shard_(batches_.max_part_size(plan_)),
      piece_(settings.micro_batch == 0 || !learner_->reads_images() ? shard_
                                                                    : (std::min)(settings.micro_batch, shard_)),
      training_(
          image_source(training, numbers_for(training, settings.standardise), settings.augmentation, settings.seed),
          learner_->reads_images() ? piece_ : 1,
          settings.prefetch ? detail::loading_time::ahead : detail::loading_time::when_asked),
      test_(image_source(test, numbers_for(training, settings.standardise)),
            !learner_->reads_images()   ? 1
            : settings.micro_batch == 0 ? 256
                                        : std::min<std::size_t>(256, settings.micro_batch),
            settings.reproducible) {
  expects(learner_->inputs() == training.features() && learner_->inputs() == test.features() &&
              learner_->outputs() == training.classes,
          "replica: the model takes ", learner_->inputs(), " numbers and gives ", learner_->outputs(),
          "; the training images have ", training.features(), ", the test images ", test.features(), ", and there are ",
          training.classes, " classes; make the model for these");
  expects(test.size() > 0, "replica: there are no test images; give at least one");
  for (auto const& [name, number] : {std::pair{"rate", double{settings.rate}},
                                     {"last_rate", double{settings.last_rate}},
                                     {"momentum", double{settings.momentum}},
                                     {"weight_decay", double{settings.weight_decay}},
                                     {"trust", double{settings.trust}},
                                     {"beta1", double{settings.beta1}},
                                     {"beta2", double{settings.beta2}},
                                     {"epsilon", double{settings.epsilon}},
                                     {"clip_norm", double{settings.clip_norm}},
                                     {"label_smoothing", double{settings.label_smoothing}},
                                     {"changes.factor", settings.changes.factor},
                                     {"decay", settings.decay},
                                     {"warm_up", settings.warm_up}}) {
    expects(std::isfinite(number), "replica: settings::", name, " must be a finite number, not ", number);
  }
  expects(settings.clip_norm >= 0, "replica: settings::clip_norm must be 0 or more, not ", settings.clip_norm);
  expects(settings.label_smoothing >= 0 && settings.label_smoothing < 1,
          "replica: settings::label_smoothing must be in [0, 1), not ", settings.label_smoothing);
  expects(!settings.synchronised_statistics || (piece_ == shard_ && batches_.all_ranks_always(plan_)),
          "replica: synchronised_statistics needs an image of every batch on every rank, and no micro-batches; with ",
          size, " ranks, the smallest batch has ", plan_.smallest(), " images, and a rank computes ", piece_,
          " of up to ", shard_, " at a time");
  expects(
      !settings.reproducible || (settings.micro_batch != 0 && !settings.synchronised_statistics),
      "replica: settings::reproducible needs micro-batches and no synchronised_statistics; set micro_batch, which is ",
      settings.micro_batch, ", to 1 or more, and synchronised_statistics to false");
  expects(!settings.reproducible || ((plan_.largest() - 1) / settings.micro_batch < binned_sum::limit &&
                                     (test.size() - 1) / test_.piece() < binned_sum::limit),
          "replica: settings::reproducible allows at most ", binned_sum::limit, " micro-batches in a batch or test; ",
          plan_.largest(), " images in a batch and ", test.size(), " in the test are too many for ",
          settings.micro_batch, " at a time: set a larger micro_batch");
  if (piece_ != shard_) {
    learner_->expect_pieces();
  }
  learner_->reserve((std::max)(piece_, test_.piece()));
  learner_->initialise(settings.seed);
}

TUTTI_DECL void replica::set_rank(rank_type rank, rank_type size) {
  expects(rank < size, "replica: the rank must be less than the number of ranks, ", size, ", not ", rank);
  rank_ = rank;
  size_ = size;
  batches_.set_rank(rank, size);
  if (piece_ == shard_ && batches_.max_part_size(plan_) > shard_) {
    learner_->expect_pieces();
  }
}

TUTTI_DECL void replica::position(training_position const& next) {
  expects(next.epoch < settings_.epochs ? next.batch <= plan_.batches(next.epoch) : next.batch == 0, "replica: batch ",
          next.batch, " of epoch ", next.epoch, " is not in a training of ", settings_.epochs, " epochs");
  position_ = next;
}

TUTTI_DECL void replica::start(std::size_t epoch) {
  training_.settle();  // the loader reads the order of the samples, which start() changes
  batches_.start(epoch, plan_.size(epoch));
  epoch_ = epoch;
  first_step_ = plan_.steps_before(epoch);
}

TUTTI_DECL std::span<float> replica::gradient(std::size_t b, gradient_listener& listener) {
  std::size_t const samples = shard(b).size();
  float const scale = 1.0F / static_cast<float>(batches_.size(b));
  learner_->begin();
  if (samples == 0) {
    learner_->clear_gradients(listener);
  }
  for (std::size_t computed_count = 0; computed_count != samples;) {
    auto const piece_samples = piece(b, computed_count);
    auto const images = load(piece_samples);
    std::size_t const first_row = batches_.offset(b) + computed_count;
    computed_count += piece_samples.size();
    prepare(b, computed_count);
    learner_->gradient(images, {true, first_step_ + b, first_row, sum_}, scale, computed_count == samples, listener);
  }
  statistics_images_ += learner_->reads_images() ? samples : 0;
  return listener.is_on_device() ? std::span<float>() : learner_->gradient_buffer();
}

TUTTI_DECL void replica::rescale_to_local_mean(std::size_t b) {
  learner_->multiply(static_cast<float>(batch_size(b)) / static_cast<float>(shard_size(b)));
}

TUTTI_DECL image_batch replica::load(std::span<std::uint32_t const> piece_samples) {
  if (learner_->reads_images()) {
    return training_.load(piece_samples, epoch_);
  }
  return {{}, std::span(training_.set().labels).first(piece_samples.size())};
}

TUTTI_DECL void replica::prepare(std::size_t b, std::size_t computed_count) {
  if (!learner_->reads_images()) {
    return;
  }
  if (computed_count != shard(b).size()) {
    training_.prepare(piece(b, computed_count), epoch_);
  } else if (b + 1 != batches()) {
    training_.prepare(piece(b + 1, 0), epoch_);
  }
}

TUTTI_DECL batch_metrics<float> replica::test(std::size_t part, std::size_t parts) {
  return learner_->reads_images() ? test_.run(*learner_, part, parts) : batch_metrics<float>{};
}

}  // namespace tutti::nn
