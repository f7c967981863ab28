// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A data set that cannot be used. The text names the file, what was expected and what was found.
class data_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Images with a class each, one byte per channel of a pixel; batches become numbers as they are gathered.
struct dataset {
  image_shape shape;                 ///< of each image
  std::size_t classes = 10;          ///< how many classes there are
  std::vector<std::uint8_t> pixels;  ///< image after image, each as image_shape says
  std::vector<std::uint8_t> labels;  ///< the class of each image

  /// The number of images.
  [[nodiscard]] std::size_t size() const noexcept { return labels.size(); }
  /// How many numbers an image has.
  [[nodiscard]] std::size_t features() const noexcept { return shape.size(); }
  /// The bytes of image i.
  [[nodiscard]] std::span<std::uint8_t const> image(std::size_t i) const noexcept {
    return std::span(pixels).subspan(i * features(), features());
  }
};

/// A training set and a test set.
struct data_pair {
  dataset training;  ///< what is learned from
  dataset test;      ///< what the model is tested with
};

}  // namespace tutti::nn
