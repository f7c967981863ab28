// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Seconds that a rank spent in each activity.
struct rank_time {
  double compute = 0;   ///< loading, forward and backward
  double transfer = 0;  ///< in the collective after the last rank's arrival, without the part hidden by computing
  double waiting = 0;   ///< in the collective, until slower ranks arrive
  double update = 0;    ///< in the optimizer
};

/// The report of a step. Where replicas stay equal, all ranks have the same but for the clock. Where they differ,
/// loss and accuracy are over this rank's part of the batch; in steps at which all ranks meet, over the batch.
struct step_result {
  /// The number of the epoch.
  std::size_t epoch = 0;
  std::size_t batch = 0;      ///< index within the epoch
  std::size_t images = 0;     ///< images of this batch, over all ranks
  float loss = 0;             ///< mean loss
  float accuracy = 0;         ///< accuracy, 0 to 1
  double seconds = 0;         ///< time since the training began
  float rate = 0;             ///< learning rate of the step
  double bytes_sent = 0;      ///< bytes sent by this rank since the training began; 0 if they are not counted
  double bytes_received = 0;  ///< bytes received by this rank since the training began; 0 if they are not counted
};

/// The report of an epoch.
struct epoch_result {
  /// The number of the epoch.
  std::size_t epoch = 0;
  std::size_t images = 0;        ///< images trained on, over all ranks; if the epoch was resumed, since then
  double test_loss = 0;          ///< mean loss over the test set
  double test_accuracy = 0;      ///< accuracy in the test, 0 to 1
  double training_seconds = 0;   ///< duration of the steps
  double testing_seconds = 0;    ///< duration of the test
  double seconds = 0;            ///< time since the training began
  std::vector<rank_time> ranks;  ///< times of each rank in this epoch's training
  double training_loss = 0;      ///< mean over the images of all ranks, each before its step

  /// The throughput of the training, over all ranks.
  [[nodiscard]] double images_per_second() const noexcept {
    return static_cast<double>(images) / (std::max)(training_seconds, 1e-9);
  }
};

/// The report of a change of the world: ranks were lost, or processes entered, and the training continued.
struct fault_result {
  double seconds = 0;            ///< time between the beginning of the training and its continuation
  std::size_t ranks_before = 0;  ///< number of ranks before the change
  std::size_t ranks = 0;         ///< number of ranks that continued
};

/// An observer that keeps the reports of a training: of every epoch, and of evenly spaced steps, so that its size is
/// bounded for trainings of any length.
///
/// Law: the steps that are kept depend only on the number of steps recorded.
struct history {
  /// The largest number of steps that are kept. When it is exceeded, every second step is dropped, and of later ones
  /// as few are kept.
  static constexpr std::size_t max_steps = 10'000;

  std::vector<step_result> steps;    ///< each `stride`-th step, and the last one
  std::vector<epoch_result> epochs;  ///< one for each epoch
  std::vector<fault_result> faults;  ///< one for each time that ranks were lost
  std::size_t stride = 1;            ///< distance of the steps that are kept, a power of 2
  std::size_t count = 0;             ///< number of steps recorded

  /// Records a step.
  template <class Replica>
  void step(step_result const& result, Replica const&) {
    if (!steps.empty() && (count - 1) % stride != 0) {
      steps.pop_back();  // was kept only as the last one
    }
    steps.push_back(result);
    ++count;
    if (steps.size() > max_steps) {
      for (std::size_t i = 0; 2 * i < steps.size(); ++i) {
        steps[i] = steps[2 * i];
      }
      steps.resize((steps.size() + 1) / 2);
      stride *= 2;
    }
  }
  /// Records an epoch.
  void epoch(epoch_result const& result) { epochs.push_back(result); }

  /// The times of each rank, over all epochs with as many ranks as the last one.
  [[nodiscard]] std::vector<rank_time> time() const {
    std::vector<rank_time> sum(epochs.empty() ? 0 : epochs.back().ranks.size());
    for (auto const& result : epochs) {
      for (std::size_t r = 0; result.ranks.size() == sum.size() && r != sum.size(); ++r) {
        sum[r].compute += result.ranks[r].compute;
        sum[r].update += result.ranks[r].update;
        sum[r].transfer += result.ranks[r].transfer;
        sum[r].waiting += result.ranks[r].waiting;
      }
    }
    return sum;
  }

  /// The throughput over the training parts of all epochs.
  [[nodiscard]] double images_per_second() const {
    epoch_result sum;
    for (auto const& result : epochs) {
      sum.images += result.images;
      sum.training_seconds += result.training_seconds;
    }
    return sum.images_per_second();
  }
};

}  // namespace tutti::nn
