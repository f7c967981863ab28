// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/data/dataset.hpp>
#include <tutti/nn/data/image_source.hpp>
#include <tutti/nn/data/normalisation.hpp>
#include <tutti/nn/detail/data/batch_loader.hpp>
#include <tutti/nn/detail/data/own_batches.hpp>
#include <tutti/nn/detail/learner.hpp>
#include <tutti/nn/detail/pretence.hpp>
#include <tutti/nn/detail/slowdown.hpp>
#include <tutti/nn/detail/test_pass.hpp>
#include <tutti/nn/gradient_listener.hpp>
#include <tutti/nn/pace.hpp>
#include <tutti/nn/parameter_range.hpp>
#include <tutti/nn/schedule/batch_plan.hpp>
#include <tutti/nn/settings.hpp>
#include <tutti/nn/training_place.hpp>
#include <tutti/reduction/binned.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

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
/// What computes is a Learner: of the host (`replica`), or of a device. Where host memory is not where it computes,
/// what `parameters`, `message`, `statistics` and `optimizer_state` return may be written until the replica computes
/// again, and shows what it computed when it is asked for again. Replicas of all learners take the same steps of the
/// same batches; their numbers differ by rounding.
template <detail::learner Learner>
class basic_replica {
 public:
  /// What it is made of.
  using made_of = typename Learner::made_of;

  /// Loss and accuracy of the batch travel behind the gradients.
  static constexpr std::size_t attached = 2;

  /// @param speed of `gradient`, and of what a server does with one
  /// @pre the model fits the data, which outlive this; a host's was made with that many attached numbers
  basic_replica(made_of model, dataset const& training, dataset const& test, nn::settings const& settings,
                rank_type rank, rank_type size, pace const& speed = {});

  // A thread may read the order of the samples, which keeps its place in a move.
  /// Takes the replica over.
  basic_replica(basic_replica&&) noexcept = default;
  basic_replica& operator=(basic_replica&&) = delete;

  /// What it was made with.
  [[nodiscard]] nn::settings const& settings() const noexcept { return settings_; }
  /// How fast it computes. Without gradients there are no weights to begin with, and no room for images.
  [[nodiscard]] pace const& speed() const noexcept { return speed_; }
  [[nodiscard]] std::span<float> parameters() { return learner_.parameters(); }
  /// The gradients, and behind them what is attached: where `gradient` writes.
  [[nodiscard]] std::span<float> message() { return learner_.message(); }
  [[nodiscard]] std::span<float const> parameters() const { return learner_.parameters(); }
  /// Where each layer's parameters lie.
  [[nodiscard]] std::vector<parameter_range> ranges() const { return learner_.ranges(); }
  /// Of a reproducible replica: the sums over its micro-batches of what the message holds. Numbers of the message that
  /// are complete are complete here.
  [[nodiscard]] std::span<binned const> sums() const noexcept { return learner_.sums(); }
  /// The message where a device computes it, for strategies that sum it there.
  [[nodiscard]] auto on_device()
    requires requires(Learner& l) { l.on_device(); }
  {
    return learner_.on_device();
  }
  /// What layers remember of the batches of this rank.
  [[nodiscard]] std::span<float> statistics() { return learner_.statistics(); }
  /// The images that the statistics have followed since they were last the same on all ranks: their weight in a mean
  /// over ranks.
  [[nodiscard]] std::size_t statistics_images() const noexcept { return statistics_images_; }
  /// Says so of statistics that come from elsewhere.
  void statistics_images(std::size_t images) noexcept { statistics_images_ = images; }
  /// What the optimizer remembers.
  [[nodiscard]] std::span<float> optimizer_state() { return learner_.optimizer_state(); }
  /// How many batches each epoch has, of how many samples.
  [[nodiscard]] batch_plan const& plan() const noexcept { return plan_; }
  /// Of the current epoch.
  [[nodiscard]] std::size_t batches() const noexcept { return batches_.batches(); }
  /// The images of batch b of an epoch, over all ranks.
  [[nodiscard]] std::size_t batch_size(std::size_t b) const noexcept { return batches_.size(b); }
  /// How many of them are this rank's.
  [[nodiscard]] std::size_t shard_size(std::size_t b) const noexcept { return shard(b).size(); }
  /// The number of training images.
  [[nodiscard]] std::size_t training_size() const noexcept { return training_.set().size(); }
  /// The number of test images.
  [[nodiscard]] std::size_t test_size() const noexcept { return test_.size(); }

  /// Makes this the replica of another rank, or among another number of ranks. A part of a batch that is larger than
  /// what there is room for is computed in pieces.
  void set_rank(rank_type rank, rank_type size);

  /// How layers whose values depend on the whole batch reach that of the other ranks.
  void synchronise(rank_sum<float> sum) noexcept { sum_ = sum; }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  /// What comes next: the batch of that number, or the end of the epoch.
  [[nodiscard]] training_place const& place() const noexcept { return place_; }
  /// Goes on from there, with the numbers that parameters, optimizer and statistics now hold.
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

  /// The same, without a listener.
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
  void update(float rate) { learner_.update(rate); }

  /// Loss and accuracy as the message now holds them.
  [[nodiscard]] score<float> batch_score() { return learner_.attached(); }

  /// Loss and number of correct answers, summed over this rank's part of the test images.
  score<float> test() { return test(rank_, size_); }

  /// The same over one of this many parts.
  score<float> test(std::size_t which, std::size_t parts);
  /// Of a reproducible replica: the accumulators of what `test` returned, loss and number of correct answers.
  [[nodiscard]] std::span<binned const> test_sums() const noexcept { return test_.sums(); }

 private:
  [[nodiscard]] normalisation numbers_for(dataset const& training) const;

  [[nodiscard]] std::span<std::uint32_t const> shard(std::size_t b) const noexcept { return batches_.own(b); }

  /// What the gradient of so many images takes, where it is not computed.
  [[nodiscard]] duration time_of(std::size_t samples, double factor) const noexcept {
    return duration(static_cast<duration::rep>(factor * speed_.pretended_seconds * static_cast<double>(samples) * 1e9));
  }

  /// What is computed at a time of this rank's part of batch b, from its sample `first` on.
  [[nodiscard]] std::span<std::uint32_t const> piece(std::size_t b, std::size_t first) const noexcept {
    auto const rest = shard(b).subspan(first);
    return rest.first((std::min)(piece_, rest.size()));
  }

  /// Says what comes after the first `done` samples of this rank's part of batch b.
  void prepare(std::size_t b, std::size_t done);

  Learner learner_;
  nn::settings settings_;
  pace speed_;
  detail::slowdown slowdown_;
  detail::pretence pretence_;
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

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/basic_replica.ipp>
#endif
