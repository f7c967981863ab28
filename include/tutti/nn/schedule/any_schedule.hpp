// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/schedule/concept.hpp>
#include <tutti/nn/schedule/curves.hpp>
#include <tutti/nn/schedule/warm_up.hpp>
#include <tutti/nn/settings.hpp>

#include <algorithm>
#include <variant>

namespace tutti::nn {

/// A schedule that is chosen at run time, its rates scaled to the batch and warmed up to if that is asked for.
class any_schedule {
 public:
  explicit any_schedule(settings const& asked) : chosen_{choose(asked), asked.warm_up, beginning(asked)} {}

  [[nodiscard]] float rate(moment const& now) const noexcept { return chosen_.rate(now); }

 private:
  struct curve {
    std::variant<constant_rate, linear_rate, cosine_rate, step_rate> one;

    [[nodiscard]] float rate(moment const& now) const noexcept {
      return std::visit([&](auto const& s) { return s.rate(now); }, one);
    }
  };

  static curve choose(settings const& asked) {
    auto const scaled = [&](float rate) {
      return asked.rate_is_for == 0 ? rate : scaled_rate(rate, asked.batch, asked.rate_is_for);
    };
    switch (asked.schedule) {
      case schedule_kind::cosine:
        return {cosine_rate{scaled(asked.rate), scaled(asked.last_rate)}};
      case schedule_kind::step:
        return {step_rate{scaled(asked.rate), asked.changes}};
      case schedule_kind::constant:
      case schedule_kind::growing_batch:
        return {constant_rate{scaled(asked.rate)}};
      case schedule_kind::linear:
        break;
    }
    return {linear_rate{scaled(asked.rate), scaled(asked.last_rate)}};
  }

  /// The share of the rate to begin with: what the rate was meant to be for a smaller batch, or nothing.
  static double beginning(settings const& asked) noexcept {
    return std::min(1.0, static_cast<double>(asked.rate_is_for) / static_cast<double>(asked.batch));
  }

  warm_up<curve> chosen_;
};

static_assert(schedule<any_schedule>);

}  // namespace tutti::nn
