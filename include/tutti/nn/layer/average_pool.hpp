// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/places.hpp>
#include <tutti/nn/layer/stateless.hpp>
#include <tutti/nn/window.hpp>

#include <algorithm>
#include <cstddef>

namespace tutti::nn {

/// The mean of the pixels under each place of a window, channel by channel. Pixels beyond the edge do
/// not count.
template <class T>
class average_pool : public stateless<T> {
 public:
  /// @pre the window fits into the padded image
  average_pool(image_shape const& image, window const& over)
      : input_(image), output_(over.over(image, image.channels)), over_(over) {}

  [[nodiscard]] std::size_t inputs() const noexcept { return input_.size(); }
  [[nodiscard]] std::size_t outputs() const noexcept { return output_.size(); }
  [[nodiscard]] image_shape output_shape() const noexcept { return output_; }

  void forward(pass<T> const&, matrix_view<T const> const& x, matrix_view<T> y) const {
    detail::for_each_place(input_, output_, over_, x.shape(0), [&](detail::place const& p) {
      T* const mean = y.data() + p.output;
      T const share = T{1} / static_cast<T>(p.pixels());
      std::fill_n(mean, input_.channels, T{0});
      p.for_each_pixel(input_, [&](std::size_t from) {
        T const* const pixel = x.data() + from;
        for (std::size_t c = 0; c != input_.channels; ++c) {
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
    detail::for_each_place(input_, output_, over_, dy.shape(0), [&](detail::place const& p) {
      T const* const slope = dy.data() + p.output;
      T const share = T{1} / static_cast<T>(p.pixels());
      p.for_each_pixel(input_, [&](std::size_t from) {
        T* const pixel = dx.data() + from;
        for (std::size_t c = 0; c != input_.channels; ++c) {
          pixel[c] += slope[c] * share;
        }
      });
    });
  }

 private:
  image_shape input_;
  image_shape output_;
  window over_;
};

static_assert(layer<average_pool<float>>);

}  // namespace tutti::nn
