// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/schedule/concept.hpp>
#include <tutti/nn/schedule/milestones.hpp>

#include <cmath>
#include <numbers>

namespace tutti::nn {

/// The same rate from the first step to the last one.
struct constant_rate {
  float first;

  [[nodiscard]] float rate(moment const&) const noexcept { return first; }
};

/// From one rate at the first step to another at the last one, along a line.
struct linear_rate {
  float first;
  float last;

  [[nodiscard]] float rate(moment const& now) const noexcept { return first + (last - first) * now.way(); }
};

/// From one rate to another along half a wave: slowly, fast, slowly. (Loshchilov, Hutter, "SGDR: stochastic
/// gradient descent with warm restarts", ICLR 2017, equation 5, without restarts)
struct cosine_rate {
  float first;
  float last;

  [[nodiscard]] float rate(moment const& now) const noexcept {
    double const high = (1 + std::cos(std::numbers::pi * static_cast<double>(now.way()))) / 2;
    return static_cast<float>(static_cast<double>(last) +
                              (static_cast<double>(first) - static_cast<double>(last)) * high);
  }
};

/// Divided by a factor at each milestone. (He, Zhang, Ren, Sun, "Deep residual learning for image
/// recognition", CVPR 2016; Goyal et al. 2017)
struct step_rate {
  float first;
  milestones at;

  [[nodiscard]] float rate(moment const& now) const noexcept {
    return static_cast<float>(static_cast<double>(first) / at.scale(now.epoch));
  }
};

static_assert(schedule<constant_rate> && schedule<linear_rate> && schedule<cosine_rate> && schedule<step_rate>);

}  // namespace tutti::nn
