// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/binned.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/base/parameter_range.hpp>
#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/base/training_place.hpp>
#include <tutti/nn/data/image_source.hpp>
#include <tutti/nn/data/normalisation.hpp>
#include <tutti/nn/detail/batches/batch_loader.hpp>
#include <tutti/nn/detail/batches/own_batches.hpp>
#include <tutti/nn/detail/trainer/test_pass.hpp>
#include <tutti/nn/extend/learner.hpp>
#include <tutti/nn/schedule/batch_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

template <class T>
class model;

/// One rank's copy of the model, with its optimizer and its part of the data. Knows its rank, but
/// nothing of how ranks talk: between `gradient` and `update` the message is to be added up over all
/// ranks, or made the mean over this rank's own images by `keep_own`.
///
/// Memory: the model's values and the images of one piece of a batch, `micro_batch` samples if it is
/// set, else a rank's part of a batch; twice the images if they are prefetched; 16 bytes a parameter if it is to
/// be reproducible.
///
/// A reproducible replica computes whole micro-batches, which are the same whatever the ranks, and keeps the sums of
/// their messages and of its test scores in accumulators: `sums` and `test_sums` are then what is to be added up over
/// all ranks.
///
/// A `learner` computes: on the host, or on a device. All numbers that `parameters`, `message`, `statistics` and
/// `optimizer_state` return are host memory, which may be written until the replica computes again - `gradient`,
/// `update`, `test`, `start` - and is to be asked for again after that. Nothing is written any more of what a listener
/// was told that it is final, so that a sum may begin there.
///
/// Law: after the same numbers were written there, replicas of the same settings and data take the same steps of the
/// same batches, whatever computes, up to rounding; `update` has the same bits on all.
///
///     tutti::nn::replica mine(tutti::nn::model<float>(layers, tutti::nn::replica::attached), images, tests, settings,
///                             world.rank(), world.size());
class replica {
 public:
  /// Loss and accuracy of the batch travel behind the gradients.
  static constexpr std::size_t attached = 2;

  /// A replica that computes on the host.
  /// @pre the model fits the data, which outlive this, and was made with `attached` numbers
  replica(model<float> model, dataset const& training, dataset const& test, nn::settings const& settings,
          rank_type rank, rank_type size);

  /// A replica that computes as the learner does.
  /// @pre the learner fits the data, which outlive this
  replica(std::unique_ptr<learner> computes, dataset const& training, dataset const& test, nn::settings const& settings,
          rank_type rank, rank_type size);

  // A thread may read the order of the samples, which keeps its place in a move.
  /// Takes the replica over.
  replica(replica&&) noexcept = default;
  replica& operator=(replica&&) = delete;

  /// The settings of the training.
  [[nodiscard]] nn::settings const& settings() const noexcept { return settings_; }
  /// The parameters that are learned.
  [[nodiscard]] std::span<float> parameters() { return learner_->parameters(); }
  /// The gradients, and behind them what is attached: where `gradient` writes.
  [[nodiscard]] std::span<float> message() { return learner_->message(); }
  /// The parameters that are learned.
  [[nodiscard]] std::span<float const> parameters() const { return std::as_const(*learner_).parameters(); }
  /// The ranges of each layer's parameters.
  [[nodiscard]] std::vector<parameter_range> ranges() const { return learner_->ranges(); }
  /// Reproducible replicas only: the accumulators of the message over all micro-batches; an element is final when its
  /// number of the message is.
  [[nodiscard]] std::span<binned const> sums() const noexcept { return learner_->sums(); }
  /// The message where a device computes it, for strategies that sum it there; null: it is on the host alone.
  [[nodiscard]] any_device_message const* on_device() { return learner_->on_device(); }
  /// The numbers that layers keep of this rank's batches without learning them.
  [[nodiscard]] std::span<float> statistics() { return learner_->statistics(); }
  /// The images that the statistics have followed since they were last the same on all ranks: their weight in a mean
  /// over ranks.
  [[nodiscard]] std::size_t statistics_images() const noexcept { return statistics_images_; }
  /// Says so of statistics that come from elsewhere.
  void statistics_images(std::size_t images) noexcept { statistics_images_ = images; }
  /// The numbers that the optimizer remembers between steps.
  [[nodiscard]] std::span<float> optimizer_state() { return learner_->optimizer_state(); }
  /// The number of batches of each epoch, and their samples.
  [[nodiscard]] batch_plan const& plan() const noexcept { return plan_; }
  /// The number of batches of the current epoch.
  [[nodiscard]] std::size_t batches() const noexcept { return batches_.batches(); }
  /// The images of batch b of an epoch, over all ranks.
  [[nodiscard]] std::size_t batch_size(std::size_t b) const noexcept { return batches_.size(b); }
  /// This rank's images of batch b.
  [[nodiscard]] std::size_t shard_size(std::size_t b) const noexcept { return shard(b).size(); }
  /// The number of training images.
  [[nodiscard]] std::size_t training_size() const noexcept { return training_.set().size(); }
  /// The number of test images.
  [[nodiscard]] std::size_t test_size() const noexcept { return test_.size(); }

  /// Makes this the replica of another rank, or among another number of ranks. A part of a batch that is larger than
  /// what there is room for is computed in pieces.
  void set_rank(rank_type rank, rank_type size);

  /// Gives layers whose values depend on the whole batch the sum over ranks.
  void synchronise(rank_sum<float> sum) noexcept { sum_ = sum; }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  /// The next batch, or the end of the epoch.
  [[nodiscard]] training_place const& place() const noexcept { return place_; }
  /// Continues from there, with the numbers that parameters, optimizer and statistics now hold.
  /// @pre there is such a place in the training
  void place(training_place const& next);
  /// The weights have followed the batch, or need not.
  void end_step() noexcept { ++place_.batch; }
  /// The epoch has been tested.
  void end_epoch() noexcept { place_ = {place_.epoch + 1, 0}; }

  /// Makes an epoch's batches; where the training is stays as it was.
  void start(std::size_t epoch);

  /// This rank's share of global batch b: of the gradients of the mean loss, of the mean loss, of the
  /// accuracy. The sum over ranks is the whole; a rank without samples contributes zeros.
  /// @param listener is told what is final while the gradients of this rank's last piece are computed; of the device's
  ///        message if it is on the device, which takes a replica that is
  /// @returns the message, to be added up in place; nothing where that is on a device
  std::span<float> gradient(std::size_t b, gradient_listener& listener);

  /// Computes the gradient without a listener.
  std::span<float> gradient(std::size_t b) {
    struct : gradient_listener {
      void completed(std::size_t /*first*/) override {}
    } none;
    return gradient(b, none);
  }

  /// Makes the message, a share of the means over global batch b, the means over this rank's own images.
  /// @pre there are some, and the message is as `gradient` left it
  void keep_own(std::size_t b);

  /// Follows the gradients that the message now holds.
  void update(float rate) { learner_->update(rate); }

  /// Loss and accuracy as the message now holds them.
  [[nodiscard]] score<float> batch_score() { return learner_->attached(); }

  /// Loss and number of correct answers, summed over this rank's part of the test images.
  score<float> test() { return test(rank_, size_); }

  /// Scores one of this many parts of the test images.
  score<float> test(std::size_t which, std::size_t parts);
  /// Reproducible replicas only: the accumulators of what `test` returned, loss and number of correct answers.
  [[nodiscard]] std::span<binned const> test_sums() const noexcept { return test_.sums(); }

 private:
  [[nodiscard]] normalisation numbers_for(dataset const& training) const;

  [[nodiscard]] std::span<std::uint32_t const> shard(std::size_t b) const noexcept { return batches_.own(b); }

  /// The piece of this rank's part of batch b that begins with its sample `first`.
  [[nodiscard]] std::span<std::uint32_t const> piece(std::size_t b, std::size_t first) const noexcept {
    auto const rest = shard(b).subspan(first);
    return rest.first((std::min)(piece_, rest.size()));
  }

  /// The chosen images.
  [[nodiscard]] image_batch load(std::span<std::uint32_t const> chosen);

  /// Says what comes after the first `done` samples of this rank's part of batch b.
  void prepare(std::size_t b, std::size_t done);

  std::unique_ptr<learner> learner_;
  nn::settings settings_;
  rank_type rank_;
  rank_type size_;
  batch_plan plan_;
  detail::own_batches batches_;
  std::size_t shard_;  // most samples of this rank in a batch
  std::size_t piece_;  // most samples computed at a time
  detail::batch_loader training_;
  detail::test_pass test_;
  std::size_t epoch_ = 0;
  training_place place_;
  rank_sum<float> sum_;
  std::size_t first_step_ = 0;  // of this epoch
  std::size_t statistics_images_ = 0;
};

/// A learner on the host, for a replica of it.
/// @pre the model was made with `replica::attached` numbers
[[nodiscard]] TUTTI_DECL std::unique_ptr<learner> make_learner(model<float> model, settings const& settings);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/host_learner.ipp>
#include <tutti/nn/replica.ipp>
#endif
