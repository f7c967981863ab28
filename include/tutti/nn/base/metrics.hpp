// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Where a rank spent its time, in seconds.
struct rank_time {
  double compute = 0;   ///< loading, forward, backward
  double transfer = 0;  ///< in the collective, once the last rank was there; not what computing hid
  double waiting = 0;   ///< in the collective, for slower ranks
  double update = 0;    ///< the optimizer
};

/// One step. Where replicas stay equal it is the same on every rank but for the clock; where they differ, loss
/// and accuracy are over this rank's part of the batch, or, in steps at which all ranks meet, over the batch.
struct step_result {
  /// The number of the epoch.
  std::size_t epoch = 0;
  std::size_t batch = 0;   ///< number within the epoch
  std::size_t images = 0;  ///< in this batch, all ranks together
  float loss = 0;          ///< mean
  float accuracy = 0;      ///< 0 to 1
  double seconds = 0;      ///< since training began
  float rate = 0;          ///< learning rate of the step
  double sent = 0;         ///< bytes that this rank has sent since training began; 0 if they are not counted
  double received = 0;     ///< bytes that this rank has received, likewise
};

/// What an epoch has come to.
struct epoch_result {
  /// The number of the epoch.
  std::size_t epoch = 0;
  std::size_t images = 0;        ///< trained on, by all ranks together; of an epoch that was gone on with, since then
  double test_loss = 0;          ///< mean over the test set
  double test_accuracy = 0;      ///< 0 to 1
  double training_seconds = 0;   ///< what the steps took
  double testing_seconds = 0;    ///< what the test took
  double seconds = 0;            ///< since training began
  std::vector<rank_time> ranks;  ///< of this epoch's training
  double training_loss = 0;      ///< mean over the images of all ranks, each before the step it took part in

  /// Trained on, of all ranks together.
  [[nodiscard]] double images_per_second() const noexcept {
    return static_cast<double>(images) / (std::max)(training_seconds, 1e-9);
  }
};

/// Ranks were lost, and the others went on.
struct fault_result {
  double seconds = 0;      ///< since training began, when they did
  std::size_t before = 0;  ///< ranks that there were
  std::size_t ranks = 0;   ///< that went on
};

/// An observer of a training that keeps everything.
struct history {
  std::vector<step_result> steps;    ///< one for each step
  std::vector<epoch_result> epochs;  ///< one for each epoch
  std::vector<fault_result> faults;  ///< one for each time that ranks were lost

  /// Takes the report of a step.
  template <class Replica>
  void step(step_result const& done, Replica const&) {
    steps.push_back(done);
  }
  /// Takes the report of an epoch.
  void epoch(epoch_result const& done) { epochs.push_back(done); }

  /// Where each rank spent its time, over all epochs that had as many ranks as the last one.
  [[nodiscard]] std::vector<rank_time> time() const {
    std::vector<rank_time> sum(epochs.empty() ? 0 : epochs.back().ranks.size());
    for (auto const& one : epochs) {
      for (std::size_t r = 0; one.ranks.size() == sum.size() && r != sum.size(); ++r) {
        sum[r].compute += one.ranks[r].compute;
        sum[r].update += one.ranks[r].update;
        sum[r].transfer += one.ranks[r].transfer;
        sum[r].waiting += one.ranks[r].waiting;
      }
    }
    return sum;
  }

  /// Over the training parts of all epochs.
  [[nodiscard]] double images_per_second() const {
    epoch_result sum;
    for (auto const& one : epochs) {
      sum.images += one.images;
      sum.training_seconds += one.training_seconds;
    }
    return sum.images_per_second();
  }
};

}  // namespace tutti::nn
