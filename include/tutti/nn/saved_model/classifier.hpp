// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/base/shape.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/report/confusion_matrix.hpp>
#include <tutti/nn/saved_model/base/description.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The classes of an image, as a model sees them.
struct prediction {
  std::size_t number = 0;            ///< number of the most probable class
  std::string name{};                ///< its name
  float probability = 0;             ///< its probability
  std::vector<float> probabilities;  ///< the probability of each class; their sum is 1
};

/// A trained model, for predictions.
///
///     auto model = tutti::nn::load_model("digits.safetensors");
///     auto const answer = model.predict(image);  // 28 x 28 bytes
///     std::printf("%s (%.1f %%)\n", answer.name.c_str(), 100 * answer.probability);
///
/// Thread safety: one thread at a time; copies are made by loading the file again.
class classifier {
 public:
  /// Makes a model of the described layers.
  /// @pre the vectors are those of a model of these layers
  /// @throws precondition_error if there are no such layers
  classifier(model_description description, std::span<float const> parameters, std::span<float const> statistics);

  /// The description of the model.
  [[nodiscard]] model_description const& description() const noexcept { return description_; }
  /// The shape of the images.
  [[nodiscard]] image_shape const& shape() const noexcept { return description_.image; }
  /// The number of classes.
  [[nodiscard]] std::size_t classes() const noexcept { return description_.classes; }
  /// The names of the classes; empty if they have numbers only.
  [[nodiscard]] std::vector<std::string> const& class_names() const noexcept { return description_.class_names; }
  /// The parameters.
  [[nodiscard]] std::span<float> parameters() noexcept { return model_.parameters(); }
  /// The statistics of the layers.
  [[nodiscard]] std::span<float> statistics() noexcept { return model_.statistics(); }

  /// Predicts the class of an image: its bytes channel after channel, row after row.
  /// @pre an image of `shape()`
  [[nodiscard]] prediction predict(std::span<std::uint8_t const> image);

  /// The probabilities of the classes for several images, one after another: `classes()` numbers for each.
  /// @pre whole images of `shape()`
  [[nodiscard]] std::vector<float> probabilities(std::span<std::uint8_t const> images);

 private:
  model_description description_;
  model<float> model_;
};

/// Loads a model from a file that `save_model` has written, or from the last intact checkpoint in a folder.
/// @throws model_error, or checkpoint_error for a folder
[[nodiscard]] TUTTI_DECL classifier load_model(std::filesystem::path const& path);

/// Predicts the class of each image of a set, and compares.
/// @pre the set's images and classes are those of the model
[[nodiscard]] TUTTI_DECL confusion_matrix evaluate(classifier& model, dataset const& set);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/saved_model/classifier.ipp>
#endif
