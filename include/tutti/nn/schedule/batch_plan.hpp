// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/settings.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace tutti::inline v0_1_0::nn {

/// The number of samples of a batch in each epoch: constant, or growing by a factor at each milestone, up to all
/// samples. A larger batch reduces the noise of gradients like a lower rate, in fewer steps. (Smith, Kindermans,
/// Ying, Le, "Don't decay the learning rate, increase the batch size", ICLR 2018)
///
/// Cost of each function: the square of the number of milestones, however many epochs there are.
class batch_plan {
 public:
  /// @pre batches do not shrink
  batch_plan(settings const& settings, std::size_t samples)
      : first_(settings.batch),
        samples_(samples),
        epochs_(settings.epochs),
        changes_(settings.schedule == rate_schedule_kind::growing_batch ? settings.changes : milestones{}) {
    expects(first_ > 0 && samples > 0,
            "batch_plan: a batch must have at least one sample, and so must the data set; not ", first_, " and ",
            samples);
    expects(changes_.factor >= 1, "batch_plan: batches must grow by a factor of 1 or more, not ", changes_.factor);
  }

  /// The number of samples of a batch.
  [[nodiscard]] std::size_t size(std::size_t epoch) const noexcept {
    double const next_size = std::round(static_cast<double>(first_) * changes_.scale(static_cast<double>(epoch)));
    return next_size < static_cast<double>(samples_) ? static_cast<std::size_t>(next_size) : samples_;
  }

  /// The number of batches of an epoch; the last one may be smaller.
  [[nodiscard]] std::size_t batches(std::size_t epoch) const noexcept {
    return (samples_ + size(epoch) - 1) / size(epoch);
  }

  /// The size of the largest batch.
  [[nodiscard]] std::size_t largest() const noexcept {
    std::size_t result = size(0);
    for (std::size_t const epoch : changes_.epochs) {
      result = epoch < epochs_ ? (std::max)(result, size(epoch)) : result;
    }
    return result;
  }

  /// The size of the smallest batch of all epochs, the last batches included.
  [[nodiscard]] std::size_t smallest() const noexcept {
    std::size_t result = samples_;
    for (std::size_t epoch = 0; epoch < epochs_; epoch = next_change(epoch)) {
      result = (std::min)(result, samples_ - (batches(epoch) - 1) * size(epoch));
    }
    return result;
  }

  /// The number of steps before this epoch.
  [[nodiscard]] std::size_t steps_before(std::size_t epoch) const noexcept {
    std::size_t sum = 0;
    for (std::size_t first = 0; first < epoch; first = next_change(first)) {
      sum += batches(first) * ((std::min)(epoch, next_change(first)) - first);
    }
    return sum;
  }
  /// The position of a step: its epoch, which may be beyond the last one, and its batch.
  struct step_position {
    std::size_t epoch = 0;  ///< the epoch, from 0
    std::size_t batch = 0;  ///< the batch in the epoch, from 0
  };
  /// The position of a step of the training.
  [[nodiscard]] step_position position(std::size_t step) const noexcept {
    std::size_t epoch = 0;
    for (; step / batches(epoch) >= next_change(epoch) - epoch; epoch = next_change(epoch)) {
      step -= batches(epoch) * (next_change(epoch) - epoch);
    }
    return {epoch + step / batches(epoch), step % batches(epoch)};
  }
  /// The number of epochs.
  [[nodiscard]] std::size_t epochs() const noexcept { return epochs_; }
  /// The number of steps of all epochs.
  [[nodiscard]] std::size_t steps() const noexcept { return steps_before(epochs_); }

 private:
  /// The first epoch after this one whose batches may have another size, or the largest number.
  [[nodiscard]] std::size_t next_change(std::size_t epoch) const noexcept {
    std::size_t result = (std::numeric_limits<std::size_t>::max)();
    for (std::size_t const milestone : changes_.epochs) {
      result = milestone > epoch ? (std::min)(result, milestone) : result;
    }
    return result;
  }

  std::size_t first_;
  std::size_t samples_;
  std::size_t epochs_;
  milestones changes_;
};

}  // namespace tutti::nn
