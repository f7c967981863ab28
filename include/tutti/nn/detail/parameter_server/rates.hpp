// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/schedule/batch_plan.hpp>
#include <tutti/nn/schedule/learning_rate.hpp>

#include <algorithm>
#include <cstddef>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// The learning rate after a number of steps, as in training without servers. It is constant beyond the last step,
/// which asynchronous workers may exceed by an update or two.
class rates {
 public:
  rates(settings const& settings, batch_plan const& plan) : schedule_(settings), plan_(plan), steps_(plan.steps()) {}

  [[nodiscard]] float at(std::size_t step) const noexcept {
    moment now;
    now.step = (std::min)(step, steps_ - 1);
    now.steps = steps_;
    auto const place = plan_.position(now.step);
    now.epoch = static_cast<double>(place.epoch) +
                static_cast<double>(place.batch) / static_cast<double>(plan_.batches(place.epoch));
    return schedule_.rate(now);
  }

 private:
  any_schedule schedule_;
  batch_plan plan_;
  std::size_t steps_;
};

}  // namespace tutti::nn::parameter_server::detail
