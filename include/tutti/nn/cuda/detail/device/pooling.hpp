// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/combine.hpp>
#include <tutti/nn/extend/geometry.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

// Pooling of images, a pack of channels of one pixel at a time, in functions for devices and hosts.
namespace tutti::inline v0_1_0::nn::detail::device {

/// An integer with the order of the numbers, and the largest one for any NaN.
[[nodiscard]] constexpr std::int32_t order_of(float x) noexcept {
  auto const bits = std::bit_cast<std::int32_t>(x);
  std::int32_t const magnitude = bits & 0x7fffffff;
  return magnitude > 0x7f800000 ? 0x7fffffff : bits < 0 ? bits ^ 0x7fffffff : bits;
}

/// The places of a window that cover a pixel: from `first` to before `end`.
struct place_range {
  std::size_t first;
  std::size_t end;
};
[[nodiscard]] constexpr place_range places_over(window const& w, std::size_t pixel, std::size_t places) noexcept {
  std::size_t const edge_distance = pixel + w.padding;
  std::size_t const first = edge_distance < w.side ? 0 : (edge_distance - w.side) / w.stride + 1;
  std::size_t const end = edge_distance / w.stride + 1;
  return {first, end < places ? end : places};
}

/// The index of the pixel under its window from which a number comes; counted row by row, including pixels beyond the
/// edge.
using window_index = std::uint16_t;

/// The number of pixels of a window.
[[nodiscard]] constexpr std::size_t area(geometry::pooling const& l) noexcept {
  return l.vertical.side * l.horizontal.side;
}

/// Computes the pixel (i, j) of an image's output: V channels from c on. `x` and `y` are the image's numbers, `indices`
/// its part of the cache.
template <std::size_t V, class T>
constexpr void pool_largest(geometry::pooling const& l, std::size_t i, std::size_t j, std::size_t c, T const* x, T* y,
                            window_index* indices) {
  using namespace tutti::detail::device;
  using tutti::detail::device::pack;  // nn has a function named pack
  std::int32_t best[V];
  pack<T, V> largest{};
  pack<window_index, V> best_place{};
  for (std::size_t k = 0; k != V; ++k) {
    best[k] = INT32_MIN;
  }
  for (std::size_t r = l.vertical.begin(i); r != l.vertical.end(i, l.input.rows); ++r) {
    for (std::size_t s = l.horizontal.begin(j); s != l.horizontal.end(j, l.input.columns); ++s) {
      pack<T, V> const pixel = load_pack<V>(x + (r * l.input.columns + s) * l.input.channels + c);
      auto const place =
          static_cast<window_index>((r + l.vertical.padding - i * l.vertical.stride) * l.horizontal.side +
                                    (s + l.horizontal.padding - j * l.horizontal.stride));
      for (std::size_t k = 0; k != V; ++k) {
        std::int32_t const order = order_of(static_cast<float>(pixel.at[k]));
        bool const better = order > best[k];
        best[k] = better ? order : best[k];
        largest.at[k] = better ? pixel.at[k] : largest.at[k];
        best_place.at[k] = better ? place : best_place.at[k];
      }
    }
  }
  std::size_t const offset = (i * l.output.columns + j) * l.output.channels + c;
  store_pack<V>(y + offset, largest);
  store_pack<V>(indices + offset, best_place);
}

/// Computes the same pixel of a mean.
template <std::size_t V, class T>
constexpr void pool_mean(geometry::pooling const& l, std::size_t i, std::size_t j, std::size_t c, T const* x, T* y) {
  using namespace tutti::detail::device;
  using tutti::detail::device::pack;  // nn has a function named pack
  std::size_t const pixels = (l.vertical.end(i, l.input.rows) - l.vertical.begin(i)) *
                             (l.horizontal.end(j, l.input.columns) - l.horizontal.begin(j));
  float const share = 1.0F / static_cast<float>(pixels);
  float mean[V] = {};
  for (std::size_t r = l.vertical.begin(i); r != l.vertical.end(i, l.input.rows); ++r) {
    for (std::size_t s = l.horizontal.begin(j); s != l.horizontal.end(j, l.input.columns); ++s) {
      pack<T, V> const pixel = load_pack<V>(x + (r * l.input.columns + s) * l.input.channels + c);
      for (std::size_t k = 0; k != V; ++k) {
        mean[k] += static_cast<float>(pixel.at[k]) * share;
      }
    }
  }
  pack<T, V> result;
  for (std::size_t k = 0; k != V; ++k) {
    result.at[k] = static_cast<T>(mean[k]);
  }
  store_pack<V>(y + (i * l.output.columns + j) * l.output.channels + c, result);
}

/// Computes dx of the pixel (r, s), V channels from c on, from all window places that cover it, in order. `indices` is
/// null for a mean.
template <std::size_t V, class T>
constexpr void pool_backward(geometry::pooling const& l, std::size_t r, std::size_t s, std::size_t c, T const* dy,
                             window_index const* indices, T* dx) {
  using namespace tutti::detail::device;
  using tutti::detail::device::pack;  // nn has a function named pack
  float sum[V] = {};
  place_range const rows = places_over(l.vertical, r, l.output.rows);
  place_range const columns = places_over(l.horizontal, s, l.output.columns);
  for (std::size_t i = rows.first; i < rows.end; ++i) {
    for (std::size_t j = columns.first; j < columns.end; ++j) {
      std::size_t const at = (i * l.output.columns + j) * l.output.channels + c;
      pack<T, V> const slope = load_pack<V>(dy + at);
      if (indices != nullptr) {
        pack<window_index, V> const best_place = load_pack<V>(indices + at);
        auto const place =
            static_cast<window_index>((r + l.vertical.padding - i * l.vertical.stride) * l.horizontal.side +
                                      (s + l.horizontal.padding - j * l.horizontal.stride));
        for (std::size_t k = 0; k != V; ++k) {
          sum[k] += best_place.at[k] == place ? static_cast<float>(slope.at[k]) : 0.0F;
        }
      } else {
        std::size_t const pixels = (l.vertical.end(i, l.input.rows) - l.vertical.begin(i)) *
                                   (l.horizontal.end(j, l.input.columns) - l.horizontal.begin(j));
        float const share = 1.0F / static_cast<float>(pixels);
        for (std::size_t k = 0; k != V; ++k) {
          sum[k] += static_cast<float>(slope.at[k]) * share;
        }
      }
    }
  }
  pack<T, V> result;
  for (std::size_t k = 0; k != V; ++k) {
    result.at[k] = static_cast<T>(sum[k]);
  }
  store_pack<V>(dx + (r * l.input.columns + s) * l.input.channels + c, result);
}

}  // namespace tutti::nn::detail::device
