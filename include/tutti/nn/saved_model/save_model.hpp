// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/saved_model/base/description.hpp>

#include <concepts>
#include <filesystem>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Holds a model's weights: a `model<float>`, a `replica`, a `classifier`.
template <class T>
concept weight_holder = requires(T& holder) {
  { holder.parameters() } -> std::convertible_to<std::span<float>>;
  { holder.statistics() } -> std::convertible_to<std::span<float>>;
};

/// Saves a model in a file of the format safetensors: its weights with PyTorch's names, shapes and order of elements,
/// and its description in the metadata. The file exists completely or not at all; one that it replaces stays until
/// then.
///
/// Cost: one pass over the weights, and waiting for the disk.
/// @pre the vectors are those of a model of the described layers
/// @throws model_error if the file cannot be written
TUTTI_DECL void save_model(std::filesystem::path const& file, model_description const& description,
                           std::span<float const> parameters, std::span<float const> statistics);

/// Saves the weights of a model that has these layers.
template <weight_holder Model>
void save_model(std::filesystem::path const& file, model_description const& description, Model& source) {
  save_model(file, description, source.parameters(), source.statistics());
}

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/saved_model/save_model.ipp>
#endif
