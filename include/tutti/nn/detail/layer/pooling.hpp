// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/base/window.hpp>
#include <tutti/nn/detail/numbers/loops.hpp>
#include <tutti/nn/extend/layer.hpp>

#include <algorithm>
#include <cstddef>

namespace tutti::inline v0_1_0::nn::detail::inline layer {

/// A position of a window over the images of a batch, clipped to the image.
struct place {
  std::size_t image;   ///< beginning of the input image
  std::size_t output;  ///< index of the output pixel
  std::size_t end;     ///< end of the output image
  std::size_t top, bottom, left, right;

  [[nodiscard]] std::size_t pixels() const noexcept { return (bottom - top) * (right - left); }

  /// Calls f with the index of each pixel under the window.
  template <class F>
  void for_each_pixel(image_shape const& input, F const& f) const {
    for (std::size_t i = top; i != bottom; ++i) {
      for (std::size_t j = left; j != right; ++j) {
        f(image + (i * input.columns + j) * input.channels);
      }
    }
  }
};

/// Calls f for each position of a rectangle in each image from `image` to before `last`.
template <class F>
void for_each_place(image_shape const& input, image_shape const& output, window const& vertical,
                    window const& horizontal, std::size_t image, std::size_t last, F const& f) {
  std::size_t output_index = image * output.size();
  for (; image != last; ++image) {
    std::size_t const end = output_index + output.size();
    for (std::size_t i = 0; i != output.rows; ++i) {
      for (std::size_t j = 0; j != output.columns; ++j, output_index += output.channels) {
        f(place{image * input.size(), output_index, end, vertical.begin(i), vertical.end(i, input.rows),
                horizontal.begin(j), horizontal.end(j, input.columns)});
      }
    }
  }
}

/// The base of all layers that compute one pixel from the pixels under each position of a window.
template <class T>
class pooling : public nn::layer<T> {
 public:
  /// @pre the window fits into the padded image
  pooling(image_shape const& image, window const& shape)
      : input_(image), output_(shape.output_shape(image, image.channels)), vertical_(shape), horizontal_(shape) {}
  /// Constructs a pooling of the whole image, square or not.
  explicit pooling(image_shape const& image)
      : input_(image), output_{image.channels, 1, 1}, vertical_{image.rows}, horizontal_{image.columns} {}

  [[nodiscard]] std::size_t inputs() const noexcept override { return input_.size(); }
  [[nodiscard]] std::size_t outputs() const noexcept override { return output_.size(); }
  [[nodiscard]] image_shape output_shape() const noexcept { return output_; }

 protected:
  [[nodiscard]] image_shape const& input() const noexcept { return input_; }

  [[nodiscard]] geometry::pooling geometry_of(geometry::pooling_kind kind) const noexcept {
    return {kind, input_, output_, vertical_, horizontal_};
  }

  /// Calls f for each position in each image. Several threads divide the images, and f is also compiled for AVX2.
  template <class F>
  void for_each_place(std::size_t images, F const& f) const {
    parallel_for(images, numbers_for_a_thread / input_.size() + 1, [&](std::size_t first, std::size_t last) {
      vectorise([&] { detail::for_each_place(input_, output_, vertical_, horizontal_, first, last, f); });
    });
  }

  /// Computes the derivative with respect to the inputs, unless it has no columns: zeros, to which f adds.
  template <class F>
  void differentiate(matrix_view<T> const& dy, matrix_view<T> dx, F const& f) const {
    if (dx.shape(1) != 0) {
      std::fill_n(dx.data(), dx.size(), T{0});
      for_each_place(dy.shape(0), f);
    }
  }

 private:
  image_shape input_;
  image_shape output_;
  window vertical_;  // side and step along the rows
  window horizontal_;
};

}  // namespace tutti::nn::detail::layer
