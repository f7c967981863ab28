// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/base/shape.hpp>
#include <tutti/nn/data/normalisation.hpp>
#include <tutti/nn/extend/geometry.hpp>
#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/saved_model/base/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Everything about a trained model except its weights: its layers, and all that a prediction needs.
struct model_description {
  std::vector<geometry::variant> layers{};    ///< layers, each with the outputs of the one before it as inputs
  image_shape image{};                        ///< shape of the images that the model takes
  normalisation numbers = normalisation({});  ///< conversion of an image's bytes to the model's numbers
  std::size_t classes = 0;                    ///< number of classes
  std::vector<std::string> class_names{};     ///< a name for each class; empty: classes have numbers only
  std::string training{};                     ///< free text about the training
  std::string version{};                      ///< version of tutti that described the model

  /// The name of a class: its number if classes have no names.
  /// @pre the class exists
  [[nodiscard]] TUTTI_DECL std::string class_name(std::size_t number) const;
};

/// Describes a model that is trained on this set.
/// @param numbers conversion of the set's bytes in the training (`numbers_for`)
/// @pre the layers take the set's images, and have an output for each class
[[nodiscard]] TUTTI_DECL model_description describe(layer_list<float> const& layers, dataset const& set,
                                                    normalisation numbers, std::string training = {});

/// Encodes a description as JSON. Each layer that has weights is there with its name in PyTorch.
[[nodiscard]] TUTTI_DECL std::string encode(model_description const& description);

/// Decodes the result of `encode`.
/// @throws model_error that names the layer and the member: the text is something else, the layers do not fit each
///         other, or the model is larger than any machine
[[nodiscard]] TUTTI_DECL model_description decode_description(std::string_view text);

namespace detail {

/// The sizes of a layer, or of layers in sequence.
struct layer_sizes {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t parameters = 0;
  std::size_t statistics = 0;
};

/// @throws model_error if a layer does not take the outputs of the one before it, or there is no layer
[[nodiscard]] TUTTI_DECL layer_sizes sizes_of(std::span<geometry::variant const> layers);

}  // namespace detail

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/saved_model/base/description.ipp>
#endif
