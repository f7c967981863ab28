// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/basic_replica.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <cmath>
#include <utility>

namespace tutti::inline v0_1_0::nn {

namespace detail {

/// Passes on what is complete. The time that the listener takes is not computing.
class paced_listener final : public gradient_listener {
 public:
  paced_listener(slowdown& rest, gradient_listener& inner) noexcept : rest_(rest), inner_(inner) {}

  void completed(std::size_t first) override {
    rest_.hold();
    inner_.completed(first);
    rest_.resume();
  }
  [[nodiscard]] bool is_on_device() const noexcept override { return inner_.is_on_device(); }
  void enqueued(std::size_t first) override { inner_.enqueued(first); }

 private:
  slowdown& rest_;
  gradient_listener& inner_;
};

}  // namespace detail

template <detail::learner Learner>
TUTTI_COLD basic_replica<Learner>::basic_replica(made_of model, dataset const& training, dataset const& test,
                                                 nn::settings const& settings, rank_type rank, rank_type size,
                                                 pace const& speed)
    : learner_(std::move(model), settings),
      settings_(settings),
      speed_(speed),
      pretence_(learner_.ranges(), learner_.products()),
      rank_(rank),
      size_(size),
      plan_(settings, training.size()),
      batches_(training.labels, settings, rank, size),
      shard_(batches_.most(plan_)),
      piece_(settings.micro_batch == 0 ? shard_ : (std::min)(settings.micro_batch, shard_)),
      training_(image_source(training, numbers_for(training), settings.augmentation, settings.seed),
                speed.pretends() ? 1 : piece_,
                settings.prefetch ? detail::loading::ahead : detail::loading::when_asked),
      test_(image_source(test, numbers_for(training)),
            speed.pretends()            ? 1
            : settings.micro_batch == 0 ? 256
                                        : std::min<std::size_t>(256, settings.micro_batch),
            settings.reproducible) {
  expects(speed.factor >= 1 && speed.most_at_random >= 1,
          "pace: a rank can be made slower, by factors of 1 or more, not ", speed.factor, " and up to ",
          speed.most_at_random);
  expects(learner_.inputs() == training.features() && learner_.inputs() == test.features() &&
              learner_.outputs() == training.classes,
          "replica: the model takes ", learner_.inputs(), " numbers and gives ", learner_.outputs(),
          "; the training images have ", training.features(), ", the test images ", test.features(), ", and there are ",
          training.classes, " classes");
  expects(test.size() > 0, "replica: there are no test images; give at least one");
  for (auto const& [name, number] : {std::pair{"rate", double{settings.rate}},
                                     {"last_rate", double{settings.last_rate}},
                                     {"momentum", double{settings.momentum}},
                                     {"weight_decay", double{settings.weight_decay}},
                                     {"trust", double{settings.trust}},
                                     {"changes.factor", settings.changes.factor},
                                     {"decay", settings.decay},
                                     {"warm_up", settings.warm_up}}) {
    expects(std::isfinite(number), "replica: settings::", name, " must be a finite number, not ", number);
  }
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
  if (piece_ != shard_) {
    learner_.expect_pieces();
  }
  if (!speed.pretends()) {
    learner_.reserve((std::max)(piece_, test_.piece()));
    learner_.initialise(settings.seed);
  }
}

template <detail::learner Learner>
TUTTI_COLD void basic_replica<Learner>::set_rank(rank_type rank, rank_type size) {
  expects(rank < size, "replica: the rank must be less than the number of ranks, ", size, ", not ", rank);
  rank_ = rank;
  size_ = size;
  batches_.set_rank(rank, size);
  if (piece_ == shard_ && batches_.most(plan_) > shard_) {
    learner_.expect_pieces();
  }
}

template <detail::learner Learner>
TUTTI_COLD void basic_replica<Learner>::place(training_place const& next) {
  expects(next.epoch < settings_.epochs ? next.batch <= plan_.batches(next.epoch) : next.batch == 0, "replica: batch ",
          next.batch, " of epoch ", next.epoch, " is no place in a training of ", settings_.epochs, " epochs");
  place_ = next;
}

template <detail::learner Learner>
TUTTI_COLD void basic_replica<Learner>::start(std::size_t epoch) {
  training_.settle();  // it reads the order of the samples, which changes
  batches_.start(epoch, plan_.size(epoch));
  epoch_ = epoch;
  first_step_ = plan_.steps_before(epoch);
}

template <detail::learner Learner>
TUTTI_COLD std::span<float> basic_replica<Learner>::gradient(std::size_t b, gradient_listener& listener) {
  std::size_t const samples = shard(b).size();
  double const factor = speed_.factor_at(settings_.seed, rank_, first_step_ + b);
  if (speed_.pretends()) {
    expects(!listener.is_on_device(),
            "replica: a gradient that is not computed is on no device; use a strategy that sums in host memory");
    pretence_.run(time_of(samples, factor), learner_.message().size(), listener);
    return learner_.message();
  }
  float const scale = 1.0F / static_cast<float>(batches_.size(b));
  detail::paced_listener passed_on(slowdown_, listener);
  slowdown_.set(factor);
  slowdown_.resume();
  learner_.begin();
  if (samples == 0) {
    learner_.nothing(passed_on);
  }
  for (std::size_t done = 0; done != samples;) {
    auto const chosen = piece(b, done);
    auto const images = training_.load(chosen, epoch_);
    std::size_t const before = batches_.before(b) + done;
    done += chosen.size();
    prepare(b, done);
    learner_.gradient(images, {true, first_step_ + b, before, sum_}, scale, done == samples, passed_on);
  }
  statistics_images_ += samples;
  return listener.is_on_device() ? std::span<float>() : learner_.message();
}

template <detail::learner Learner>
TUTTI_COLD void basic_replica<Learner>::keep_own(std::size_t b) {
  learner_.multiply(static_cast<float>(batch_size(b)) / static_cast<float>(shard_size(b)));
}

template <detail::learner Learner>
TUTTI_COLD normalisation basic_replica<Learner>::numbers_for(dataset const& training) const {
  return settings_.standardise ? to_standard_scores(training) : to_unit_interval(training.shape.channels);
}

template <detail::learner Learner>
TUTTI_COLD void basic_replica<Learner>::prepare(std::size_t b, std::size_t done) {
  if (done != shard(b).size()) {
    training_.prepare(piece(b, done), epoch_);
  } else if (b + 1 != batches()) {
    training_.prepare(piece(b + 1, 0), epoch_);
  }
}

template <detail::learner Learner>
TUTTI_COLD score<float> basic_replica<Learner>::test(std::size_t which, std::size_t parts) {
  return speed_.pretends() ? score<float>{} : test_.run(learner_, which, parts);
}

}  // namespace tutti::nn
