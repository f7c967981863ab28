// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/places.hpp>
#include <tutti/nn/layer/stateless.hpp>
#include <tutti/nn/window.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::nn {

/// The largest number under each place of a window, channel by channel. Pixels beyond the edge do not
/// count. Of equal ones the first is it; a NaN is larger than all else, so that it shows.
template <class T>
class max_pool : public stateless<T> {
 public:
  /// @pre the window fits into the padded image
  max_pool(image_shape const& image, window const& over)
      : input_(image), output_(over.over(image, image.channels)), over_(over) {}

  [[nodiscard]] std::size_t inputs() const noexcept { return input_.size(); }
  [[nodiscard]] std::size_t outputs() const noexcept { return output_.size(); }
  [[nodiscard]] image_shape output_shape() const noexcept { return output_; }

  void reserve(std::size_t rows) { chosen_.resize(std::max(chosen_.size(), rows * outputs())); }

  void forward(pass<T> const&, matrix_view<T const> const& x, matrix_view<T> y) {
    detail::for_each_place(input_, output_, over_, x.shape(0), [&](detail::place const& p) {
      T* const best = y.data() + p.output;
      std::uint32_t* const at = chosen_.data() + p.output;
      bool first = true;
      p.for_each_pixel(input_, [&](std::size_t from) {
        T const* const pixel = x.data() + from;
        auto const offset = static_cast<std::uint32_t>(from - p.image);
        for (std::size_t c = 0; c != input_.channels; ++c) {
          bool const better = first || pixel[c] > best[c] || pixel[c] != pixel[c];
          best[c] = better ? pixel[c] : best[c];
          at[c] = better ? offset : at[c];
        }
        first = false;
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
      std::uint32_t const* const at = chosen_.data() + p.output;
      T* const to = dx.data() + p.image;
      for (std::size_t c = 0; c != input_.channels; ++c) {
        to[at[c] + c] += slope[c];
      }
    });
  }

 private:
  image_shape input_;
  image_shape output_;
  window over_;
  std::vector<std::uint32_t> chosen_;  // for each number of the output, which pixel it is from
};

static_assert(layer<max_pool<float>>);

}  // namespace tutti::nn
