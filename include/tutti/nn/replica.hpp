// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/binned_sum.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/base/parameter_range.hpp>
#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/base/training_position.hpp>
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

/// One rank's copy of the model, with its optimizer and its part of the data. It knows its rank but does not
/// communicate: between `gradient` and `update` the caller sums the gradient buffer over all ranks, or
/// `rescale_to_local_mean` makes it the mean over this rank's own images.
///
/// Memory: the model's values and the images of one piece of a batch: `micro_batch` samples if that is set, else a
/// rank's part of a batch. Prefetching doubles the images; reproducible replicas add 16 bytes a parameter.
///
/// A reproducible replica computes whole micro-batches, which do not depend on the ranks, and adds their gradient
/// buffers and its test metrics in accumulators: the caller sums `sums` and `test_sums` over all ranks.
///
/// A `learner` computes, on the host or on a device. The spans of `parameters`, `gradient_buffer`, `statistics` and
/// `optimizer_state` are host memory. They may be written until the replica computes again (`gradient`, `update`,
/// `test`, `start`), and must be requested again after that. Values that a listener has been told are final are not
/// written any more, so that their sum may begin.
///
/// Law: replicas of equal settings and data in which equal values were written take equal steps on equal batches, on
/// any device, up to rounding; `update` gives the same bits on all.
///
///     tutti::nn::model<float> model(layers, tutti::nn::replica::extra_scalars);
///     tutti::nn::replica local(std::move(model), images, tests, settings, world.rank(), world.size());
class replica {
 public:
  /// The loss and the accuracy of the batch, which travel behind the gradients.
  static constexpr std::size_t extra_scalars = 2;

  /// Constructs a replica that computes on the host.
  /// @pre the model fits the data, which outlive this, and was constructed with `extra_scalars` extra scalars
  replica(model<float> model, dataset const& training, dataset const& test, nn::settings const& settings,
          rank_type rank, rank_type size);

  /// Constructs a replica that computes with this learner.
  /// @pre the learner fits the data, which outlive this
  replica(std::unique_ptr<learner> learner, dataset const& training, dataset const& test, nn::settings const& settings,
          rank_type rank, rank_type size);

  // A thread may be reading the order of the samples, whose address survives a move.
  /// Takes over the replica.
  replica(replica&&) noexcept = default;
  replica& operator=(replica&&) = delete;

  /// The settings of the training.
  [[nodiscard]] nn::settings const& settings() const noexcept { return settings_; }
  /// The parameters that are learned.
  [[nodiscard]] std::span<float> parameters() { return learner_->parameters(); }
  /// The gradient buffer that `gradient` writes: the gradients and, behind them, the extra scalars.
  [[nodiscard]] std::span<float> gradient_buffer() { return learner_->gradient_buffer(); }
  /// The parameters that are learned.
  [[nodiscard]] std::span<float const> parameters() const { return std::as_const(*learner_).parameters(); }
  /// The ranges of each layer's parameters.
  [[nodiscard]] std::vector<parameter_range> ranges() const { return learner_->ranges(); }
  /// Reproducible replicas only: the accumulators of the gradient buffer over all micro-batches. Element i is final
  /// when element i of the buffer is.
  [[nodiscard]] std::span<binned_sum const> sums() const noexcept { return learner_->sums(); }
  /// The gradient buffer on the device that computes it, for strategies that sum it there; null if it is in host
  /// memory only.
  [[nodiscard]] any_device_gradient_buffer const* on_device() { return learner_->on_device(); }
  /// The statistics that layers keep of this rank's batches without learning them.
  [[nodiscard]] std::span<float> statistics() { return learner_->statistics(); }
  /// The number of images behind the statistics since they were last equal on all ranks: their weight in a mean over
  /// ranks.
  [[nodiscard]] std::size_t statistics_images() const noexcept { return statistics_images_; }
  /// Sets the number of images behind statistics that come from elsewhere.
  void statistics_images(std::size_t images) noexcept { statistics_images_ = images; }
  /// The values that the optimizer remembers between steps.
  [[nodiscard]] std::span<float> optimizer_state() { return learner_->optimizer_state(); }
  /// The batches of each epoch and their samples.
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

  /// Makes this the replica of another rank, or among another number of ranks. Parts of a batch that exceed the
  /// allocated memory are computed in pieces.
  void set_rank(rank_type rank, rank_type size);

  /// Sets the sum over ranks for layers whose values depend on the whole batch.
  void synchronise(rank_sum<float> sum) noexcept { sum_ = sum; }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  /// The position in the training: the next batch, or the end of the epoch.
  [[nodiscard]] training_position const& position() const noexcept { return position_; }
  /// Continues at `next`, with the current values of parameters, optimizer and statistics.
  /// @pre the training has this position
  void position(training_position const& next);
  /// Ends a step: the weights have followed the batch, or need not.
  void end_step() noexcept { ++position_.batch; }
  /// Ends an epoch, after its test.
  void end_epoch() noexcept { position_ = {position_.epoch + 1, 0}; }

  /// Makes the batches of an epoch. The position in the training does not change.
  void start(std::size_t epoch);

  /// This rank's share of the gradients of the mean loss over global batch b, of that loss and of the accuracy. The
  /// sum over ranks is the whole; a rank without samples contributes zeros.
  /// @param listener is told which part of the gradient buffer is final while this rank's last piece is computed; if
  /// the listener sums on the device, the buffer there, which needs a replica on a device
  /// @returns the gradient buffer, to be summed in place; empty if it is on a device
  std::span<float> gradient(std::size_t b, gradient_listener& listener);

  /// Computes the gradient without a listener.
  std::span<float> gradient(std::size_t b) {
    struct : gradient_listener {
      void on_completion(std::size_t /*first*/) override {}
    } no_listener;
    return gradient(b, no_listener);
  }

  /// Turns the gradient buffer from a share of the means over global batch b into the means over this rank's own
  /// images.
  /// @pre this rank has images, and the buffer is as `gradient` left it
  void rescale_to_local_mean(std::size_t b);

  /// Updates the weights with the gradients in the gradient buffer.
  void update(float rate) { learner_->update(rate); }

  /// The loss and accuracy in the gradient buffer.
  [[nodiscard]] batch_metrics<float> metrics() { return learner_->metrics(); }

  /// Loss and number of correct answers, summed over this rank's part of the test images.
  batch_metrics<float> test() { return test(rank_, size_); }

  /// Scores one of `parts` parts of the test images.
  batch_metrics<float> test(std::size_t part, std::size_t parts);
  /// Reproducible replicas only: the accumulators of the last result of `test`, loss and number of correct answers.
  [[nodiscard]] std::span<binned_sum const> test_sums() const noexcept { return test_.sums(); }

 private:
  [[nodiscard]] std::span<std::uint32_t const> shard(std::size_t b) const noexcept { return batches_.part(b); }

  /// The piece of this rank's part of batch b that begins at its sample `first`.
  [[nodiscard]] std::span<std::uint32_t const> piece(std::size_t b, std::size_t first) const noexcept {
    auto const rest = shard(b).subspan(first);
    return rest.first((std::min)(piece_, rest.size()));
  }

  /// The chosen images.
  [[nodiscard]] image_batch load(std::span<std::uint32_t const> samples);

  /// Starts to load the images behind the first `computed_count` samples of this rank's part of batch b.
  void prepare(std::size_t b, std::size_t computed_count);

  std::unique_ptr<learner> learner_;
  nn::settings settings_;
  rank_type rank_;
  rank_type size_;
  batch_plan plan_;
  detail::own_batches batches_;
  std::size_t shard_;  // largest number of samples of this rank in a batch
  std::size_t piece_;  // largest number of samples computed at a time
  detail::batch_loader training_;
  detail::test_pass test_;
  std::size_t epoch_ = 0;
  training_position position_;
  rank_sum<float> sum_;
  std::size_t first_step_ = 0;  // first step of this epoch
  std::size_t statistics_images_ = 0;
};

/// Makes a learner on the host.
/// @pre the model was constructed with `replica::extra_scalars` extra scalars
[[nodiscard]] TUTTI_DECL std::unique_ptr<learner> make_learner(model<float> model, settings const& settings);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/host_learner.ipp>
#include <tutti/nn/replica.ipp>
#endif
