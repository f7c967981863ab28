// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/shape.hpp>
#include <tutti/nn/extend/layer.hpp>

#include <cstddef>
#include <memory>

namespace tutti::inline v0_1_0::nn {

/// Converts images from the order of data sets, channel after channel, to that of layers, pixel after pixel with its
/// channels beside each other. Images of one channel do not need it.
template <class T>
class channels_last final : public layer<T> {
 public:
  /// Constructs a layer for images of this shape.
  explicit channels_last(image_shape const& image) : image_(image) {}

  [[nodiscard]] std::unique_ptr<layer<T>> clone() const override { return std::make_unique<channels_last>(*this); }
  [[nodiscard]] std::size_t inputs() const noexcept override { return image_.size(); }
  [[nodiscard]] std::size_t outputs() const noexcept override { return image_.size(); }
  /// The shape of an output image.
  [[nodiscard]] image_shape output_shape() const noexcept { return image_; }
  [[nodiscard]] geometry::variant geometry() const override { return {geometry::channels_last{image_}}; }

  void forward(batch_context<T> const&, matrix_view<T const> const& x, matrix_view<T> y) override {
    for_each(x.shape(0), [input = x.data(), output = y.data()](std::size_t planar, std::size_t interleaving) {
      output[interleaving] = input[planar];
    });
  }

  /// Computes dx, the derivative with respect to x, from dy, the one with respect to y, unless dx has no columns.
  void backward(batch_context<T> const&, matrix_view<T const> const&, matrix_view<T> const&, matrix_view<T> dy,
                matrix_view<T> dx) override {
    if (dx.shape(1) != 0) {
      for_each(dy.shape(0), [input = dy.data(), output = dx.data()](std::size_t planar, std::size_t interleaving) {
        output[planar] = input[interleaving];
      });
    }
  }

 private:
  template <class F>
  void for_each(std::size_t images, F const& f) const {
    std::size_t const pixels = image_.rows * image_.columns;
    for (std::size_t first = 0; first != images * image_.size(); first += image_.size()) {
      for (std::size_t c = 0; c != image_.channels; ++c) {
        for (std::size_t p = 0; p != pixels; ++p) {
          f(first + c * pixels + p, first + p * image_.channels + c);
        }
      }
    }
  }

  image_shape image_;
};

#ifdef TUTTI_SEPARATE_COMPILATION
extern template class channels_last<float>;
extern template class channels_last<double>;
#endif

}  // namespace tutti::nn
