// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/random.hpp>
#include <tutti/nn/detail/data/strokes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn::detail::inline data {

/// Draws images of 28 x 28 pixels that look like handwritten digits. An image is the same on every platform: all
/// arithmetic is on integers, and no two random numbers are arguments of one call, whose order of evaluation depends
/// on the compiler.
///
/// A digit is written in one of several forms. Its points are shift a little, then the whole is sheared, scaled,
/// rotated, shifted, and bent by a smooth field (Simard, Steinkraus, Platt, "Best practices for convolutional neural
/// networks", ICDAR 2003). Pen width and ink vary; strokes break; a neighbouring digit extends into the image; the
/// paper is noisy.
class digit_painter {
 public:
  static constexpr std::int32_t side = 28;
  static constexpr std::int32_t unit = 256;  ///< coordinate units of a pixel

  explicit digit_painter(random_sequence random) noexcept : random_(random) {
    for (auto& row : field_) {
      for (auto& node : row) {
        node = {random_.draw_between(-350, 350), random_.draw_between(-350, 350)};
      }
    }
  }

  /// Draws the digit with its disturbances.
  /// @pre digit < 10, `image` has side * side pixels, all zero
  void paint(std::uint32_t digit, std::span<std::uint8_t> image) noexcept {
    image_ = image;
    ink_ = random_.draw_between(150, 255);
    pen_ = random_.draw_between(170, 420);
    write(digit, {random_.draw_between(-2 * unit, 2 * unit), random_.draw_between(-2 * unit, 2 * unit)});
    if (random_.chance(50)) {
      smudge();
    }
    if (random_.chance(60)) {  // the edge of a neighbouring digit
      std::uint32_t const neighbour = random_.draw_below(10);
      std::int32_t const side_of_it = random_.chance(50) ? 1 : -1;
      write(neighbour,
            {side_of_it * random_.draw_between(17 * unit, 21 * unit), random_.draw_between(-3 * unit, 3 * unit)});
    }
    add_noise();
  }

 private:
  using point = strokes::point;

  /// A random linear map from the grid 0..100 to coordinates around the centre.
  struct linear_map {
    std::int32_t xx, xy, yx, yy;
  };

  void write(std::uint32_t digit, point shift) noexcept {
    auto const ways = strokes::digits[digit];
    auto const& way = ways[random_.draw_below(static_cast<std::uint32_t>(ways.size()))];
    std::int32_t const turn = random_.draw_between(-16, 16);  // 51 units to a grid step: 20 pixels high
    linear_map const map{random_.draw_between(32, 58), turn + random_.draw_between(-16, 10), -turn,
                         random_.draw_between(38, 56)};
    for (auto const curve : way.curves) {
      if (!curve.empty()) {
        follow(curve, map, shift);
      }
    }
  }

  /// Draws a Catmull-Rom spline through the points.
  void follow(std::span<point const> curve, linear_map const& map, point shift) noexcept {
    std::array<point, 16> at;
    std::size_t const count = (std::min)(curve.size(), at.size());
    for (std::size_t i = 0; i != count; ++i) {
      std::int32_t const x = curve[i].x - 50 + random_.draw_between(-4, 4);
      std::int32_t const y = curve[i].y - 50 + random_.draw_between(-4, 4);
      at[i] = {side * unit / 2 + shift.x + map.xx * x + map.xy * y,
               side * unit / 2 + shift.y + map.yx * x + map.yy * y};
    }
    for (std::size_t i = 0; i + 1 < count; ++i) {
      point const a = at[i == 0 ? 0 : i - 1];
      point const b = at[i];
      point const c = at[i + 1];
      point const d = at[i + 2 == count ? i + 1 : i + 2];
      constexpr std::int32_t steps = 16;
      for (std::int32_t s = 0; s != steps; ++s) {
        dot(bend({spline(a.x, b.x, c.x, d.x, s), spline(a.y, b.y, c.y, d.y, s)}));
      }
    }
  }

  /// The point of the spline at s / 16 between b and c.
  static std::int32_t spline(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d, std::int32_t s) noexcept {
    std::int32_t const first = 2 * b * 4096 + (c - a) * s * 256;
    std::int32_t const second = (2 * a - 5 * b + 4 * c - d) * s * s * 16;
    std::int32_t const third = (3 * b - a - 3 * c + d) * s * s * s;
    return (first + second + third) / 8192;
  }

  /// Moves a point by the field, which is given at 5 x 5 nodes and interpolated linearly.
  [[nodiscard]] point bend(point p) const noexcept {
    constexpr std::int32_t cell = 7 * unit;
    std::int32_t const x = std::clamp(p.x, 0, 4 * cell - 1);
    std::int32_t const y = std::clamp(p.y, 0, 4 * cell - 1);
    auto const column = static_cast<std::size_t>(x / cell);
    auto const row = static_cast<std::size_t>(y / cell);
    std::int32_t const fx = x % cell * 64 / cell;
    std::int32_t const fy = y % cell * 64 / cell;
    auto const mix = [&](std::int32_t point::*axis) {
      std::int32_t const upper = field_[row][column].*axis * (64 - fx) + field_[row][column + 1].*axis * fx;
      std::int32_t const lower = field_[row + 1][column].*axis * (64 - fx) + field_[row + 1][column + 1].*axis * fx;
      return (upper * (64 - fy) + lower * fy) / 4096;
    };
    return {p.x + mix(&point::x), p.y + mix(&point::y)};
  }

  /// A round dot of the pen's radius with a soft edge one pixel wide.
  void dot(point p) noexcept {
    std::int32_t const outer = pen_ + unit / 2;
    std::int32_t const inner = (std::max)(pen_ - unit / 2, 0);
    std::int32_t const edge = outer * outer - inner * inner;
    over_disc(p, outer, [&](std::uint8_t& pixel, std::int32_t square) {
      std::int32_t const cover = std::clamp((outer * outer - square) * 64 / edge, 0, 64);
      pixel = static_cast<std::uint8_t>(std::max<std::int32_t>(pixel, ink_ * cover / 64));
    });
  }

  /// Erases a small disc, which may break a stroke.
  void smudge() noexcept {
    point const p{random_.draw_between(8 * unit, 20 * unit), random_.draw_between(6 * unit, 22 * unit)};
    std::int32_t const radius = random_.draw_between(unit, 5 * unit / 2);
    over_disc(p, radius, [](std::uint8_t& pixel, std::int32_t) { pixel = static_cast<std::uint8_t>(pixel / 4); });
  }

  /// Calls f(pixel, squared distance) for the pixels with centres within the radius.
  template <class F>
  void over_disc(point p, std::int32_t radius, F f) noexcept {
    std::int32_t const left = (std::max)((p.x - radius) / unit, 0);
    std::int32_t const right = (std::min)((p.x + radius) / unit, side - 1);
    std::int32_t const top = (std::max)((p.y - radius) / unit, 0);
    std::int32_t const bottom = (std::min)((p.y + radius) / unit, side - 1);
    for (std::int32_t y = top; y <= bottom; ++y) {
      for (std::int32_t x = left; x <= right; ++x) {
        std::int32_t const dx = x * unit + unit / 2 - p.x;
        std::int32_t const dy = y * unit + unit / 2 - p.y;
        if (dx * dx + dy * dy <= radius * radius) {
          std::int32_t const pixel = y * side + x;
          f(image_[static_cast<std::size_t>(pixel)], dx * dx + dy * dy);
        }
      }
    }
  }

  /// Adds to each pixel the sum of two dice minus its mean.
  void add_noise() noexcept {
    std::int32_t const strength = random_.draw_between(8, 40);
    for (std::size_t i = 0; i < image_.size(); i += 8) {
      std::uint64_t bits = random_();
      for (std::size_t j = i; j != (std::min)(i + 8, image_.size()); ++j, bits >>= 8) {
        std::int32_t const dice = static_cast<std::int32_t>(bits & 15U) + static_cast<std::int32_t>(bits >> 4 & 15U);
        image_[j] = static_cast<std::uint8_t>(std::clamp(image_[j] + (dice - 15) * strength / 8, 0, 255));
      }
    }
  }

  random_sequence random_;
  std::span<std::uint8_t> image_;
  std::int32_t ink_ = 0;
  std::int32_t pen_ = 0;
  std::array<std::array<point, 5>, 5> field_{};
};

}  // namespace tutti::nn::detail::data
