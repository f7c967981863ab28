// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/image_store.hpp>
#include <tutti/nn/base/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A data set that cannot be used. The text names the file, what was expected and what was found.
class data_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Images with a class each, one byte per channel of a pixel. Bytes become floats when a batch is gathered.
///
/// The bytes are in `pixels`, or come from a store on demand. Copies of a set share its store.
struct dataset {
  image_shape shape;                              ///< shape of each image
  std::size_t classes = 10;                       ///< number of classes
  std::vector<std::uint8_t> pixels;               ///< images one after another, in the order of image_shape
  std::vector<std::uint8_t> labels;               ///< the class of each image
  std::vector<std::string> class_names = {};      ///< a name for each class; empty: classes have numbers only
  std::shared_ptr<image_store const> store = {};  ///< source of the images; empty: they are in `pixels`

  /// The number of images.
  [[nodiscard]] std::size_t size() const noexcept { return labels.size(); }
  /// The number of values of an image.
  [[nodiscard]] std::size_t features() const noexcept { return shape.size(); }
  /// The bytes of image i. From a store they are valid until this thread asks a store for another image.
  /// @throws data_error if the store cannot read the image
  [[nodiscard]] std::span<std::uint8_t const> image(std::size_t i) const {
    return store ? store->image(i) : std::span(pixels).subspan(i * features(), features());
  }
};

/// A training set and a test set.
struct data_pair {
  dataset training;  ///< images of the training set
  dataset test;      ///< images of the test set; none if the source has no test set, see `split`
};

}  // namespace tutti::nn
