// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/places.hpp>
#include <tutti/nn/layer/stateless.hpp>
#include <tutti/nn/threads.hpp>
#include <tutti/nn/vectorised.hpp>
#include <tutti/nn/window.hpp>

#include <cstddef>

namespace tutti::nn::detail {

/// What all layers are that make one pixel of those under each place of a window.
template <class T>
class pooling : public stateless<T> {
 public:
  /// @pre the window fits into the padded image
  pooling(image_shape const& image, window const& over)
      : input_(image), output_(over.over(image, image.channels)), down_(over), across_(over) {}
  /// One place, of the whole image, square or not.
  explicit pooling(image_shape const& image)
      : input_(image), output_{image.channels, 1, 1}, down_{image.rows}, across_{image.columns} {}

  [[nodiscard]] std::size_t inputs() const noexcept { return input_.size(); }
  [[nodiscard]] std::size_t outputs() const noexcept { return output_.size(); }
  [[nodiscard]] image_shape output_shape() const noexcept { return output_; }

 protected:
  [[nodiscard]] image_shape const& input() const noexcept { return input_; }

  /// Calls f for each place in each image. Several threads do, each for its images; f is compiled for AVX2, too.
  template <class F>
  void for_each_place(std::size_t images, F const& f) const {
    parallel_for(images, numbers_for_a_thread / input_.size() + 1, [&](std::size_t first, std::size_t last) {
      vectorised([&] { detail::for_each_place(input_, output_, down_, across_, first, last, f); });
    });
  }

 private:
  image_shape input_;
  image_shape output_;
  window down_;  // as it moves along the rows
  window across_;
};

}  // namespace tutti::nn::detail
