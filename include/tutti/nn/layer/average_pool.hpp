// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/concept.hpp>
#include <tutti/nn/layer/pooling.hpp>

#include <algorithm>
#include <cstddef>

namespace tutti::nn {

/// The mean of the pixels under each place of a window, channel by channel. Pixels beyond the edge do
/// not count.
template <class T>
class average_pool : public detail::pooling<T> {
 public:
  using detail::pooling<T>::pooling;

  void forward(pass<T> const&, matrix_view<T const> const& x, matrix_view<T> y) const {
    this->for_each_place(x.shape(0), [&](detail::place const& p) {
      T* const mean = y.data() + p.output;
      T const share = T{1} / static_cast<T>(p.pixels());
      std::fill_n(mean, this->input().channels, T{0});
      p.for_each_pixel(this->input(), [&](std::size_t from) {
        T const* const pixel = x.data() + from;
        for (std::size_t c = 0; c != this->input().channels; ++c) {
          mean[c] += pixel[c] * share;
        }
      });
    });
  }

  void backward(pass<T> const&, matrix_view<T const> const&, matrix_view<T> const&, matrix_view<T> dy,
                matrix_view<T> dx) const {
    if (dx.shape(1) == 0) {
      return;
    }
    std::fill_n(dx.data(), dx.size(), T{0});
    this->for_each_place(dy.shape(0), [&](detail::place const& p) {
      T const* const slope = dy.data() + p.output;
      T const share = T{1} / static_cast<T>(p.pixels());
      p.for_each_pixel(this->input(), [&](std::size_t from) {
        T* const pixel = dx.data() + from;
        for (std::size_t c = 0; c != this->input().channels; ++c) {
          pixel[c] += slope[c] * share;
        }
      });
    });
  }
};

static_assert(layer<average_pool<float>>);

}  // namespace tutti::nn
