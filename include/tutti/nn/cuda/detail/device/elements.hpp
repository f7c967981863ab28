// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/combine.hpp>
#include <tutti/detail/core/product.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/cuda/detail/device/math.hpp>
#include <tutti/nn/extend/geometry.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

// Element-wise functions for devices and hosts.
namespace tutti::inline v0_1_0::nn::detail::device {

/// Converts a number to another format.
template <class To>
struct converter {
  template <class From>
  constexpr To operator()(From x) const {
    return static_cast<To>(static_cast<float>(x));
  }
};

/// Adds as floats; for numbers, rounds the sum once.
template <class T>
struct adder {
  constexpr T operator()(T a, T b) const { return static_cast<T>(static_cast<float>(a) + static_cast<float>(b)); }
};

/// max(a + b, 0); keeps NaNs.
template <class T>
struct rectifying_adder {
  constexpr T operator()(T a, T b) const {
    float const sum = static_cast<float>(a) + static_cast<float>(b);
    return static_cast<T>(sum < 0.0F ? 0.0F : sum);
  }
};

/// The derivative where y > 0, else 0, for two places.
template <class T>
struct slope_of_rectified {
  constexpr tutti::detail::device::result_pair<T> operator()(T y, T dy) const {
    T const slope = static_cast<float>(y) > 0.0F ? dy : static_cast<T>(0.0F);
    return {slope, slope};
  }
};

struct multiplier {
  float factor;

  constexpr float operator()(float x) const { return tutti::detail::product(factor, x); }
};

[[nodiscard]] constexpr bool is_finite(float x) noexcept {
  return (std::bit_cast<std::uint32_t>(x) & 0x7f800000U) != 0x7f800000U;
}

/// Multiplies, and sets a word to 1 if the result is not finite. Threads may write it concurrently, as all write 1.
struct unscaler {
  float factor;
  std::uint32_t* overflow;

  constexpr float operator()(float x) const {
    float const result = tutti::detail::product(factor, x);
    if (!is_finite(result)) {
      *overflow = 1;
    }
    return result;
  }
};

/// A step of `sgd` or `corrected_sgd` on weight and velocity; see sgd_step.
struct momentum_step {
  sgd_step step;

  constexpr tutti::detail::device::result_pair<float> operator()(float w, float v, float g) const {
    using tutti::detail::product;
    float const decay_term = product(step.decay, w);
    float const slope = step.is_corrected ? decay_term : step.decay == 0.0F ? g : g + decay_term;
    float const velocity = product(step.momentum, v) + slope;
    float const direction = step.lookahead ? slope + product(step.momentum, velocity) : velocity;
    return {w - product(step.rate, step.is_corrected ? g + direction : direction), velocity};
  }
};

/// A step of `sgd` or `corrected_sgd` without a velocity.
struct plain_step {
  sgd_step step;

  constexpr float operator()(float w, float g) const {
    using tutti::detail::product;
    float const slope = step.is_corrected || step.decay == 0.0F ? g : g + product(step.decay, w);
    return w - product(step.rate, slope);
  }
};

/// The factors of `dropout` for the numbers of a row from `first` on, in turn.
class dropout_factors {
 public:
  constexpr dropout_factors(geometry::dropout const& l, std::uint64_t key, std::uint64_t row, std::uint64_t first)
      : random_(key, row), limit_(l.limit), scale_(l.scale) {
    random_.discard(first);
  }
  constexpr float operator()() { return random_() >> 32U < limit_ ? 0.0F : scale_; }

 private:
  random_sequence random_;
  std::uint32_t limit_;
  float scale_;
};

}  // namespace tutti::nn::detail::device
