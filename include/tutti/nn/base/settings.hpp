// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/augmentation.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The optimizer, chosen at run time.
enum class optimizer_kind { sgd, nesterov, lars, adam, adamw };

/// The word for the optimizer in options and reports.
[[nodiscard]] constexpr std::string_view name(optimizer_kind kind) noexcept {
  constexpr std::string_view names[] = {"sgd", "nesterov", "lars", "adam", "adamw"};
  return names[static_cast<std::size_t>(kind)];
}

/// The learning-rate schedule, chosen at run time; growing_batch enlarges the batch instead of lowering the rate.
enum class rate_schedule_kind { constant, linear, cosine, step, growing_batch };

/// The word for the schedule in options and reports.
[[nodiscard]] constexpr std::string_view name(rate_schedule_kind kind) noexcept {
  constexpr std::string_view names[] = {"constant", "linear", "cosine", "step", "growing_batch"};
  return names[static_cast<std::size_t>(kind)];
}

/// The division of the training images among the ranks.
enum class ownership {
  common,  ///< every batch is divided among all ranks
  iid,     ///< each rank keeps a part of all classes
  labels   ///< each rank keeps a part of few classes
};

/// The word for the division in options and reports.
[[nodiscard]] constexpr std::string_view name(ownership kind) noexcept {
  constexpr std::string_view names[] = {"shared", "iid", "labels"};
  return names[static_cast<std::size_t>(kind)];
}

/// Epochs at whose beginning a factor applies: the learning rate shrinks, or the batch grows.
struct milestones {
  std::vector<std::size_t> epochs;  ///< epochs, counted from 0
  double factor = 10;               ///< factor of each change

  /// The factor to the power of the number of milestones reached. Avoids std::pow, whose last bit differs between
  /// libraries.
  [[nodiscard]] double scale(double epoch) const noexcept {
    double result = 1;
    for (std::size_t const milestone : epochs) {
      result *= epoch >= static_cast<double>(milestone) ? factor : 1.0;
    }
    return result;
  }
};

/// The settings of a training.
struct settings {
  std::size_t epochs = 5;    ///< number of passes over the images
  std::size_t batch = 128;   ///< samples of one step, over all ranks
  float rate = 0.1F;         ///< learning rate of the first step
  float last_rate = 0.001F;  ///< learning rate of the last step, with a linear or a cosine schedule
  float momentum = 0.9F;     ///< sgd, nesterov, LARS: share of the velocity that is kept
  /// True: momentum runs on each rank before gradients are summed, which needs a strategy for it.
  bool momentum_corrected = false;
  bool synchronised_statistics = false;  ///< batch normalisation over the batch of all ranks
  std::uint64_t seed = 1;                ///< seed of the initial weights, the order of samples and the augmentation

  optimizer_kind optimizer = optimizer_kind::sgd;  ///< rule by which weights follow gradients
  float weight_decay = 0;                          ///< decay of weights
  /// True: weight decay and LARS treat all parameters alike. False: both leave biases and normalisation alone.
  bool decays_all = false;
  float trust = 0.001F;       ///< LARS: size of a step as a share of a layer's weights, at rate 1
  float beta1 = 0.9F;         ///< Adam: share of the mean of gradients that is kept
  float beta2 = 0.999F;       ///< Adam: share of the mean of squared gradients that is kept
  float epsilon = 1e-8F;      ///< Adam: least divisor of a step
  float clip_norm = 0;        ///< largest norm of the gradient of all parameters, which is scaled down to it; 0: any
  float label_smoothing = 0;  ///< share of each training label that is spread over all classes

  rate_schedule_kind schedule = rate_schedule_kind::linear;  ///< learning-rate schedule
  milestones changes = {};      ///< changes of the rate with the schedule step, of the batch with growing_batch
  double decay = 1;             ///< growing_batch: divisor of the rate at each change of the batch
  double warm_up = 0;           ///< epochs in which the rate rises to that of the schedule
  std::size_t rate_is_for = 0;  ///< batch for which both rates are meant; 0: `batch`

  ownership images = ownership::common;  ///< division of the images among ranks

  /// Largest number of samples that a rank computes at a time; 0: all of its part of a batch.
  std::size_t micro_batch = 0;
  any_augmentation augmentation = {};  ///< changes of training images
  bool standardise = false;            ///< true: channels have mean 0 and deviation 1; false: bytes become 0 to 1
  bool prefetch = false;               ///< a thread of each rank prepares the images of the next batch
  bool reproducible = false;           ///< equal bits for any number of ranks; needs micro_batch, and a strategy for it
};

}  // namespace tutti::nn
