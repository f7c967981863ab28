// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/augmentation.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The optimizer, chosen at run time.
enum class optimizer_kind { sgd, nesterov, lars };

/// The word for it in options and reports.
[[nodiscard]] constexpr std::string_view name(optimizer_kind kind) noexcept {
  constexpr std::string_view names[] = {"sgd", "nesterov", "lars"};
  return names[static_cast<std::size_t>(kind)];
}

/// What becomes of the learning rate, chosen at run time; or of the batch, in place of the rate.
enum class rate_schedule_kind { constant, linear, cosine, step, growing_batch };

/// The word for it in options and reports.
[[nodiscard]] constexpr std::string_view name(rate_schedule_kind kind) noexcept {
  constexpr std::string_view names[] = {"constant", "linear", "cosine", "step", "growing_batch"};
  return names[static_cast<std::size_t>(kind)];
}

/// How the training images are divided among the ranks.
enum class ownership {
  shared,  ///< every batch is dealt out among all ranks
  iid,     ///< each rank has a part for good, of all classes alike
  labels   ///< each rank has a part for good, of few classes
};

/// The word for it in options and reports.
[[nodiscard]] constexpr std::string_view name(ownership kind) noexcept {
  constexpr std::string_view names[] = {"shared", "iid", "labels"};
  return names[static_cast<std::size_t>(kind)];
}

/// Epochs at whose beginning something changes by a factor: the learning rate shrinks, or the batch grows.
struct milestones {
  std::vector<std::size_t> epochs;  ///< which epochs
  double factor = 10;               ///< by how much

  /// The factor to the power of how many milestones were reached. No power function, whose last bit is
  /// the library's choice.
  [[nodiscard]] double scale(double epoch) const noexcept {
    double result = 1;
    for (std::size_t const one : epochs) {
      result *= epoch >= static_cast<double>(one) ? factor : 1.0;
    }
    return result;
  }
};

/// What a training does.
struct settings {
  std::size_t epochs = 5;                ///< how often every image is seen
  std::size_t batch = 128;               ///< samples in one step, all ranks together
  float rate = 0.1F;                     ///< learning rate of the first step
  float last_rate = 0.001F;              ///< of the last one, with a linear or a cosine schedule
  float momentum = 0.9F;                 ///< how much of the velocity is kept
  bool momentum_corrected = false;       ///< it runs on each rank before gradients are summed: needs a strategy for it
  bool synchronised_statistics = false;  ///< batch normalisation over the batch of all ranks
  std::uint64_t seed = 1;  ///< of the initial weights, of the order of samples and of how they are changed

  optimizer_kind optimizer = optimizer_kind::sgd;  ///< how weights follow gradients
  float weight_decay = 0;                          ///< the decay of weights
  float trust = 0.001F;  ///< LARS: how large a step is, as a share of a layer's weights, at rate 1

  rate_schedule_kind schedule = rate_schedule_kind::linear;  ///< how the rate changes
  milestones changes;           ///< of the rate, with the schedule step, or of the batch, with growing_batch
  double decay = 1;             ///< with growing_batch: the rate is divided by this at each change of the batch
  double warm_up = 0;           ///< epochs in which the rate rises to what the schedule says
  std::size_t rate_is_for = 0;  ///< the batch that both rates are meant for; 0: the one that there is

  ownership images = ownership::shared;  ///< how images are divided

  std::size_t micro_batch = 0;    ///< most samples that a rank computes at a time; 0: all of its part of a batch
  any_augmentation augmentation;  ///< how training images are changed
  bool standardise = false;       ///< channels with mean 0 and deviation 1; or else bytes as 0 to 1
  bool prefetch = false;          ///< a thread of each rank makes the next batch's images ready
  bool reproducible = false;      ///< the same bits for any number of ranks; needs micro_batch, and a strategy for it
};

}  // namespace tutti::nn
