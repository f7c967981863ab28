// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/settings.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <numbers>
#include <variant>

namespace tutti::inline v0_1_0::nn {

/// The moment before a step of a training. Steps and epochs count from 0.
struct moment {
  std::size_t step = 0;   ///< the step of the training, from 0
  std::size_t steps = 1;  ///< number of steps of the training
  double epoch = 0;       ///< number of completed epochs, plus the completed share of the current one

  /// The progress of the training: 0 at the first step, 1 at the last one.
  [[nodiscard]] float progress() const noexcept {
    return steps > 1 ? static_cast<float>(step) / static_cast<float>(steps - 1) : 0.0F;
  }
};

/// The learning rate as a function of time. All ranks ask at the same moments, and must get the same bits.
template <class S>
concept schedule = requires(S const& s, moment const& now) {
  { s.rate(now) } -> std::same_as<float>;
};

/// A constant rate.
struct constant_rate {
  float first;  ///< the rate

  /// The learning rate at a moment.
  [[nodiscard]] float rate(moment const&) const noexcept { return first; }
};

/// A rate that changes linearly between the first and the last step.
struct linear_rate {
  float first;  ///< the rate of the first step
  float last;   ///< the rate of the last step

  /// The learning rate at a moment.
  [[nodiscard]] float rate(moment const& now) const noexcept { return first + (last - first) * now.progress(); }
};

/// A rate that follows half a cosine: slowly, fast, slowly. (Loshchilov, Hutter, "SGDR: stochastic gradient descent
/// with warm restarts", ICLR 2017, equation 5, without restarts)
struct cosine_rate {
  float first;  ///< the rate of the first step
  float last;   ///< the rate of the last step

  /// The learning rate at a moment.
  [[nodiscard]] float rate(moment const& now) const noexcept {
    double const high = (1 + std::cos(std::numbers::pi * static_cast<double>(now.progress()))) / 2;
    return static_cast<float>(static_cast<double>(last) +
                              (static_cast<double>(first) - static_cast<double>(last)) * high);
  }
};

/// A rate that is divided by a factor at each milestone. (He, Zhang, Ren, Sun, "Deep residual learning for image
/// recognition", CVPR 2016; Goyal et al. 2017)
struct step_rate {
  float first;    ///< the rate of the first step
  milestones at;  ///< epochs at which the rate falls, and the divisor

  /// The learning rate at a moment.
  [[nodiscard]] float rate(moment const& now) const noexcept {
    return static_cast<float>(static_cast<double>(first) / at.scale(now.epoch));
  }
};

static_assert(schedule<constant_rate> && schedule<linear_rate> && schedule<cosine_rate> && schedule<step_rate>);

/// The linear scaling rule: a batch k times as large needs a rate k times as high. (Krizhevsky, "One weird trick for
/// parallelizing convolutional neural networks", 2014; Goyal et al. 2017, section 2.1)
[[nodiscard]] inline float scaled_rate(float rate, std::size_t batch, std::size_t reference_batch) noexcept {
  return static_cast<float>(static_cast<double>(rate) * static_cast<double>(batch) /
                            static_cast<double>(reference_batch));
}

/// A schedule with a gradual start: in the first epochs the rates of another schedule are multiplied by a share that
/// grows linearly from `initial_share` to 1. (Goyal et al., "Accurate, large minibatch SGD: training ImageNet in 1
/// hour", 2017, section 2.2, starts from the rate for a small batch: 1 / k)
template <schedule Schedule>
struct warm_up {
  Schedule main_schedule;    ///< the schedule that follows
  double epochs = 0;         ///< duration of the warm-up in epochs
  double initial_share = 0;  ///< share of the rate at the first step

  /// The learning rate at a moment.
  [[nodiscard]] float rate(moment const& now) const noexcept {
    float const full = main_schedule.rate(now);
    return now.epoch < epochs ? static_cast<float>(static_cast<double>(full) *
                                                   (initial_share + (1 - initial_share) * (now.epoch / epochs)))
                              : full;
  }
};

/// A schedule chosen at run time, with rates scaled to the batch and warmed up according to the settings.
class any_schedule {
 public:
  /// Constructs the schedule of the settings.
  explicit any_schedule(settings const& settings);

  /// The learning rate at a moment.
  [[nodiscard]] float rate(moment const& now) const noexcept;

 private:
  struct curve {
    std::variant<constant_rate, linear_rate, cosine_rate, step_rate> variant;

    [[nodiscard]] float rate(moment const& now) const noexcept {
      return std::visit([&](auto const& s) { return s.rate(now); }, variant);
    }
  };

  static curve make_curve(settings const& settings);

  /// The share of the rate at the first step: that of the batch for which the rate is meant, or 0.
  static double initial_share(settings const& settings) noexcept;

  warm_up<curve> schedule_;
};

static_assert(schedule<any_schedule>);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/schedule/learning_rate.ipp>
#endif
