// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/deposit.hpp>
#include <tutti/expects.hpp>
#include <tutti/nn/replica.hpp>

#include <algorithm>

namespace tutti::nn {

TUTTI_DECL replica::replica(model<float> m, dataset const& training, dataset const& test, nn::settings const& settings,
                            rank_type rank, rank_type size, pace const& speed)
    : model_(std::move(m)),
      settings_(settings),
      speed_(speed),
      slowdown_(speed.factor),
      pretence_(model_.ranges(), model_.products()),
      rank_(rank),
      size_(size),
      optimizer_(settings, model_.ranges()),
      plan_(settings, training.size()),
      batches_(training.labels, settings, rank, size),
      shard_(batches_.most(plan_)),
      piece_(settings.micro_batch == 0 ? shard_ : std::min(settings.micro_batch, shard_)),
      pieces_(piece_ == shard_ || settings.reproducible ? 0 : model_.message().size()),
      sums_(settings.reproducible ? model_.message().size() : 0),
      training_(image_source(training, numbers_for(training), settings.augmentation, settings.seed),
                speed.pretends() ? 1 : piece_,
                settings.prefetch ? detail::loading::ahead : detail::loading::when_asked),
      test_(image_source(test, numbers_for(training)),
            speed.pretends()            ? 1
            : settings.micro_batch == 0 ? 256
                                        : std::min<std::size_t>(256, settings.micro_batch),
            settings.reproducible) {
  expects(model_.attached().size() == attached, "replica: the model must be made with ", attached,
          " attached numbers, not ", model_.attached().size(), "; pass replica::attached to its constructor");
  expects(model_.inputs() == training.features() && model_.inputs() == test.features() &&
              model_.outputs() == training.classes,
          "replica: the model takes ", model_.inputs(), " numbers and gives ", model_.outputs(),
          "; the training images have ", training.features(), ", the test images ", test.features(), ", and there are ",
          training.classes, " classes");
  expects(test.size() > 0, "replica: there must be at least one test image");
  expects(speed.pretended_seconds >= 0, "replica: a gradient takes no time below zero, such as ",
          speed.pretended_seconds, " s an image");
  expects(!settings.synchronised_statistics || (piece_ == shard_ && batches_.all_ranks_always(plan_)),
          "replica: statistics of all ranks need an image of every batch on every rank, and no micro-batches; with ",
          size, " ranks the smallest batch has ", plan_.smallest(), " images, and a rank computes ", piece_,
          " of at most ", shard_, " at a time");
  expects(!settings.reproducible || (settings.micro_batch != 0 && !settings.synchronised_statistics),
          "replica: to be reproducible takes micro-batches and no statistics of all ranks; set micro_batch, "
          "which is ",
          settings.micro_batch, ", to 1 or more, and synchronised_statistics to false");
  expects(!settings.reproducible || ((plan_.largest() - 1) / settings.micro_batch < binned::most &&
                                     (test.size() - 1) / test_.piece() < binned::most),
          "replica: to be reproducible takes at most ", binned::most,
          " micro-batches in a batch and in the "
          "test; ",
          plan_.largest(), " images of a batch and ", test.size(), " of the test are too many for ",
          settings.micro_batch, " images at a time: set a larger micro_batch");
  if (!speed.pretends()) {
    model_.reserve(std::max(piece_, test_.piece()));
    model_.initialise(settings.seed);
  }
}

TUTTI_DECL void replica::set_rank(rank_type rank, rank_type size) {
  expects(rank < size, "replica: the rank must be less than the number of ranks, ", size, ", not ", rank);
  rank_ = rank;
  size_ = size;
  batches_.set_rank(rank, size);
  if (piece_ == shard_ && batches_.most(plan_) > shard_) {
    pieces_ = detail::accumulator(model_.message().size());
  }
}

TUTTI_DECL void replica::place(training_place const& next) {
  expects(next.epoch < settings_.epochs ? next.batch <= plan_.batches(next.epoch) : next.batch == 0, "replica: batch ",
          next.batch, " of epoch ", next.epoch, " is no place in a training of ", settings_.epochs, " epochs");
  place_ = next;
}

TUTTI_DECL void replica::start(std::size_t epoch) {
  training_.settle();  // it reads the order of the samples, which changes
  batches_.start(epoch, plan_.size(epoch));
  epoch_ = epoch;
  first_step_ = plan_.steps_before(epoch);
}

TUTTI_DECL void replica::keep_own(std::size_t b) noexcept {
  float const factor = static_cast<float>(batch_size(b)) / static_cast<float>(shard_size(b));
  std::ranges::for_each(model_.message(), [factor](float& number) { number *= factor; });
}

TUTTI_DECL std::vector<parameter_range> replica::ranges() const {
  return model_.ranges();
}

TUTTI_DECL void replica::keep(std::span<float const> message) {
  if (settings_.reproducible) {
    tutti::detail::deposit(message, sums_);
  } else {
    pieces_.add(message);
  }
}

TUTTI_DECL void replica::complete(std::span<float> part, std::size_t first) {
  if (settings_.reproducible) {
    tutti::detail::deposit(part, std::span(sums_).subspan(first, part.size()));
  } else {
    pieces_.add_to(part, first);
  }
}

TUTTI_DECL normalisation replica::numbers_for(dataset const& training) const {
  return settings_.standardise ? to_standard_scores(training) : to_unit_interval(training.shape.channels);
}

TUTTI_DECL void replica::prepare(std::size_t b, std::size_t done) {
  if (done != shard(b).size()) {
    training_.prepare(piece(b, done), epoch_);
  } else if (b + 1 != batches()) {
    training_.prepare(piece(b + 1, 0), epoch_);
  }
}

TUTTI_DECL score<float> replica::test(std::size_t which, std::size_t parts) {
  return speed_.pretends() ? score<float>{} : test_.run(model_, which, parts);
}

}  // namespace tutti::nn
