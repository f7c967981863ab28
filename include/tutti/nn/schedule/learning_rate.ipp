// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/schedule/learning_rate.hpp>

#include <algorithm>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL any_schedule::any_schedule(settings const& settings)
    : schedule_{make_curve(settings), settings.warm_up, initial_share(settings)} {}

TUTTI_DECL float any_schedule::rate(moment const& now) const noexcept {
  return schedule_.rate(now);
}

TUTTI_DECL any_schedule::curve any_schedule::make_curve(settings const& settings) {
  auto const scale = [&](float rate) {
    return settings.rate_is_for == 0 ? rate : scaled_rate(rate, settings.batch, settings.rate_is_for);
  };
  switch (settings.schedule) {
    case rate_schedule_kind::cosine:
      return {cosine_rate{scale(settings.rate), scale(settings.last_rate)}};
    case rate_schedule_kind::step:
      return {step_rate{scale(settings.rate), settings.changes}};
    case rate_schedule_kind::growing_batch:
      return {step_rate{scale(settings.rate), {settings.changes.epochs, settings.decay}}};
    case rate_schedule_kind::constant:
      return {constant_rate{scale(settings.rate)}};
    case rate_schedule_kind::linear:
      break;
  }
  return {linear_rate{scale(settings.rate), scale(settings.last_rate)}};
}

TUTTI_DECL double any_schedule::initial_share(settings const& settings) noexcept {
  return (std::min)(1.0, static_cast<double>(settings.rate_is_for) / static_cast<double>(settings.batch));
}

}  // namespace tutti::nn
