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

// What a device does with numbers one by one, as functions that a host runs, too.
namespace tutti::inline v0_1_0::nn::detail::device {

/// Another format of the same number.
template <class To>
struct converted {
  template <class From>
  constexpr To operator()(From x) const {
    return static_cast<To>(static_cast<float>(x));
  }
};

/// Of floats: each sum is rounded once. Of numbers: then rounded to one.
template <class T>
struct added {
  constexpr T operator()(T to, T from) const {
    return static_cast<T>(static_cast<float>(to) + static_cast<float>(from));
  }
};

/// max(a + b, 0); a NaN stays one.
template <class T>
struct added_and_rectified {
  constexpr T operator()(T a, T b) const {
    float const sum = static_cast<float>(a) + static_cast<float>(b);
    return static_cast<T>(sum < 0.0F ? 0.0F : sum);
  }
};

/// A slope where y > 0, else 0: to both places.
template <class T>
struct slope_of_rectified {
  constexpr tutti::detail::device::two<T> operator()(T y, T dy) const {
    T const slope = static_cast<float>(y) > 0.0F ? dy : static_cast<T>(0.0F);
    return {slope, slope};
  }
};

struct multiplied {
  float factor;

  constexpr float operator()(float x) const { return tutti::detail::product(factor, x); }
};

[[nodiscard]] constexpr bool is_finite(float x) noexcept {
  return (std::bit_cast<std::uint32_t>(x) & 0x7f800000U) != 0x7f800000U;
}

/// The same, and 1 to a word if it is not finite. Threads that write to it at once all write that.
struct unscaled {
  float factor;
  std::uint32_t* overflow;

  constexpr float operator()(float x) const {
    float const made = tutti::detail::product(factor, x);
    if (!is_finite(made)) {
      *overflow = 1;
    }
    return made;
  }
};

/// A step of `sgd` or of `corrected_sgd`, to weight and velocity; see sgd_step.
struct followed {
  sgd_step step;

  constexpr tutti::detail::device::two<float> operator()(float w, float v, float g) const {
    using tutti::detail::product;
    float const decayed = product(step.decay, w);
    float const slope = step.corrected ? decayed : step.decay == 0.0F ? g : g + decayed;
    float const velocity = product(step.momentum, v) + slope;
    float const way = step.lookahead ? slope + product(step.momentum, velocity) : velocity;
    return {w - product(step.rate, step.corrected ? g + way : way), velocity};
  }
};

/// The same without a velocity.
struct followed_at_once {
  sgd_step step;

  constexpr float operator()(float w, float g) const {
    using tutti::detail::product;
    float const slope = step.corrected || step.decay == 0.0F ? g : g + product(step.decay, w);
    return w - product(step.rate, slope);
  }
};

/// By what `dropout` multiplies the numbers of a row from one on, in turn.
class drops {
 public:
  constexpr drops(geometry::dropout const& l, std::uint64_t key, std::uint64_t row, std::uint64_t first)
      : random_(key, row), limit_(l.limit), kept_(l.kept) {
    random_.discard(first);
  }
  constexpr float operator()() { return random_() >> 32U < limit_ ? 0.0F : kept_; }

 private:
  random_sequence random_;
  std::uint32_t limit_;
  float kept_;
};

}  // namespace tutti::nn::detail::device
