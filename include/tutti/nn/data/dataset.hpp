// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/expects.hpp>
#include <tutti/nn/shape.hpp>
#include <tutti/nn/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace tutti::nn {

/// A data set that cannot be used. The text names the file, what was expected and what was found.
class data_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Images with a class each, one byte per channel of a pixel; batches become numbers as they are gathered.
struct dataset {
  image_shape shape;  ///< of each image
  std::size_t classes = 10;
  std::vector<std::uint8_t> pixels;  ///< image after image, each as image_shape says
  std::vector<std::uint8_t> labels;

  [[nodiscard]] std::size_t size() const noexcept { return labels.size(); }
  [[nodiscard]] std::size_t features() const noexcept { return shape.size(); }
  [[nodiscard]] std::span<std::uint8_t const> image(std::size_t i) const noexcept {
    return std::span(pixels).subspan(i * features(), features());
  }
};

/// A training set and a test set.
struct data_pair {
  dataset training;
  dataset test;
};

/// Writes the chosen images into the rows of x, with bytes 0 to 255 as 0 to 1, and their labels.
/// @pre one row and one label for each choice, as many columns as an image has numbers
template <class T>
void gather(dataset const& from, std::span<std::uint32_t const> chosen, matrix_view<T> x,
            std::span<std::uint8_t> labels) {
  expects(x.shape(0) == chosen.size() && labels.size() == chosen.size() && x.shape(1) == from.features(),
          "gather: one row of features() numbers and one label per image");
  T* row = x.data();
  for (std::size_t i = 0; i != chosen.size(); ++i) {
    for (std::uint8_t const byte : from.image(chosen[i])) {
      *row++ = static_cast<T>(byte) * (T{1} / T{255});
    }
    labels[i] = from.labels[chosen[i]];
  }
}

}  // namespace tutti::nn
