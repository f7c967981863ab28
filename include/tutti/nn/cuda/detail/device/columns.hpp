// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/extend/geometry.hpp>
#include <tutti/nn/layer/activation.hpp>

#include <cmath>
#include <cstddef>
#include <type_traits>

// Channel-wise operations on a batch, in functions for devices and hosts.
//
// An operation has a value per channel, which `at(c)` computes once. Its call operator takes one or two numbers of a
// batch (`inputs`), returns the result (if it `writes`), and adds to `sums`, which are totals over all pixels.
namespace tutti::inline v0_1_0::nn::detail::device {

/// The layer's activation of that kind.
template <activation_kind Kind>
using activation_of =
    std::conditional_t<Kind == activation_kind::identity, identity,
                       std::conditional_t<Kind == activation_kind::relu, relu,
                                          std::conditional_t<Kind == activation_kind::tanh, nn::tanh, sigmoid>>>;

/// activation(x + bias).
template <activation_kind Kind>
struct bias_and_activation {
  static constexpr std::size_t inputs = 1;
  static constexpr std::size_t sums = 0;
  static constexpr bool writes = true;
  using channel = float;

  float const* bias;  ///< may be null

  [[nodiscard]] constexpr channel at(std::size_t c) const { return bias == nullptr ? 0.0F : bias[c]; }
  constexpr float operator()(channel b, float x, float, float*) const { return activation_of<Kind>::value(x + b); }
};

/// Multiplies dy by the derivative of the activation, and sums it.
template <activation_kind Kind>
struct activation_slopes {
  static constexpr std::size_t inputs = 2;
  static constexpr std::size_t sums = 1;
  static constexpr bool writes = Kind != activation_kind::identity;
  struct channel {};

  [[nodiscard]] constexpr channel at(std::size_t) const { return {}; }
  constexpr float operator()(channel, float y, float dy, float* sum) const {
    float const slope = dy * activation_of<Kind>::derivative(y);
    sum[0] += slope;
    return slope;
  }
};
template <>
struct activation_slopes<activation_kind::identity> {
  static constexpr std::size_t inputs = 1;
  static constexpr std::size_t sums = 1;
  static constexpr bool writes = false;
  struct channel {};

  [[nodiscard]] constexpr channel at(std::size_t) const { return {}; }
  constexpr float operator()(channel, float dy, float, float* sum) const {
    sum[0] += dy;
    return dy;
  }
};

/// 1 / standard deviation.
template <std::same_as<float> T>
[[nodiscard]] constexpr T spread_of(T variance, T epsilon) {
  return T{1} / std::sqrt(variance + epsilon);
}

/// The sums of batch normalisation: of x - running mean, and of its square.
struct norm_sums {
  static constexpr std::size_t inputs = 1;
  static constexpr std::size_t sums = 2;
  static constexpr bool writes = false;
  using channel = float;

  float const* running_mean;

  [[nodiscard]] constexpr channel at(std::size_t c) const { return running_mean[c]; }
  constexpr float operator()(channel mean, float x, float, float* sum) const {
    float const difference = x - mean;
    sum[0] += difference;
    sum[1] += difference * difference;
    return x;
  }
};

/// The layout of the cache, from forward to backward: mean, spread, and the number of pixels.
struct norm_cache {
  float* values;
  std::size_t channels;

  [[nodiscard]] constexpr float& mean(std::size_t c) const { return values[c]; }
  [[nodiscard]] constexpr float& spread(std::size_t c) const { return values[channels + c]; }
  [[nodiscard]] constexpr float& pixels() const { return values[2 * channels]; }
};

/// Computes a channel's mean and spread from its sums, and updates the running statistics.
template <std::same_as<float> T>
constexpr void finish_norm(geometry::batch_norm const& l, std::size_t c, T const* sums, T* statistics,
                           norm_cache const& cache) {
  std::size_t const channels = l.image.channels;
  T const n = sums[2 * channels];
  T const difference = sums[c] / n;
  T const raw = sums[channels + c] / n - difference * difference;
  T const variance = raw < T{0} ? T{0} : raw;
  T const degrees_of_freedom = n - T{1} < T{1} ? T{1} : n - T{1};
  cache.mean(c) = statistics[c] + difference;
  cache.spread(c) = spread_of(variance, l.epsilon);
  statistics[c] += l.momentum * difference;
  statistics[channels + c] += l.momentum * (variance * n / degrees_of_freedom - statistics[channels + c]);
  if (c == 0) {
    cache.pixels() = n;
  }
}

/// activation(x factor + offset).
struct norm_line {
  float factor;
  float offset;
  float mean;
};
/// The line of a channel with this mean and spread. Parameters: gamma, then beta.
[[nodiscard]] constexpr norm_line line_of(float const* parameters, std::size_t channels, std::size_t c, float mean,
                                          float spread) {
  float const factor = parameters[c] * spread;
  return {factor, parameters[channels + c] - mean * factor, mean};
}

/// Computes y from the batch's mean and spread.
template <activation_kind Kind>
struct norm_forward {
  static constexpr std::size_t inputs = 1;
  static constexpr std::size_t sums = 0;
  static constexpr bool writes = true;
  using channel = norm_line;

  float const* parameters;
  norm_cache cache;

  [[nodiscard]] constexpr channel at(std::size_t c) const {
    return line_of(parameters, cache.channels, c, cache.mean(c), cache.spread(c));
  }
  constexpr float operator()(channel const& l, float x, float, float*) const {
    return activation_of<Kind>::value(x * l.factor + l.offset);
  }
};
/// Computes y from the running statistics.
template <activation_kind Kind>
struct norm_inference {
  static constexpr std::size_t inputs = 1;
  static constexpr std::size_t sums = 0;
  static constexpr bool writes = true;
  using channel = norm_line;

  float const* parameters;
  float const* statistics;
  std::size_t channels;
  float epsilon;

  [[nodiscard]] constexpr channel at(std::size_t c) const {
    return line_of(parameters, channels, c, statistics[c], spread_of(statistics[channels + c], epsilon));
  }
  constexpr float operator()(channel const& l, float x, float, float*) const {
    return activation_of<Kind>::value(x * l.factor + l.offset);
  }
};

/// Multiplies dy by the derivative of the activation; sums the product, and the product times x - mean.
template <activation_kind Kind>
struct norm_slopes {
  static constexpr std::size_t inputs = 2;
  static constexpr std::size_t sums = 2;
  static constexpr bool writes = Kind != activation_kind::identity;
  using channel = norm_line;

  norm_forward<Kind> forward;

  [[nodiscard]] constexpr channel at(std::size_t c) const { return forward.at(c); }
  constexpr float operator()(channel const& l, float x, float dy, float* sum) const {
    float const slope = dy * activation_of<Kind>::derivative(forward(l, x, 0, nullptr));
    sum[0] += slope;
    sum[1] += slope * (x - l.mean);
    return slope;
  }
};

/// Computes dx.
struct norm_backward {
  static constexpr std::size_t inputs = 2;
  static constexpr std::size_t sums = 0;
  static constexpr bool writes = true;
  struct channel {
    float factor;
    float mean;
    float mean_slope;
    float moment;
  };

  float const* parameters;
  norm_cache cache;
  float const* sums_of_slopes;

  [[nodiscard]] constexpr channel at(std::size_t c) const {
    float const spread = cache.spread(c);
    float const factor = parameters[c] * spread;
    float const share = factor / cache.pixels();
    return {factor, cache.mean(c), sums_of_slopes[c] * share,
            sums_of_slopes[cache.channels + c] * share * spread * spread};
  }
  constexpr float operator()(channel const& l, float x, float dy, float*) const {
    return l.factor * dy - l.mean_slope - (x - l.mean) * l.moment;
  }
};

}  // namespace tutti::nn::detail::device
