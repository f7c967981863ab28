// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/saved_model/base/error.hpp>
#include <tutti/nn/saved_model/save_model.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Loads weights from a file in the format safetensors, for a training that begins with them (fine-tuning). Tensors are
/// found by the names that PyTorch gives them, so files of torchvision's ResNets fit, too. If the file has another
/// number of classes, the last dense layer keeps its weights; all else must be there with equal shapes.
///
/// Cost: one pass over the file.
/// @returns the names of the tensors that keep their weights; empty if all were loaded
/// @pre the vectors are those of a model of these layers
/// @throws model_error that names the file, the tensor and both shapes; the weights are then unchanged
TUTTI_DECL std::vector<std::string> load_weights(std::filesystem::path const& file, layer_list<float> const& layers,
                                                 std::span<float> parameters, std::span<float> statistics);

/// Loads weights into a model that has these layers: a `model<float>` or a `replica`.
template <weight_holder Model>
std::vector<std::string> load_weights(std::filesystem::path const& file, layer_list<float> const& layers,
                                      Model& model) {
  return load_weights(file, layers, model.parameters(), model.statistics());
}

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/saved_model/load_weights.ipp>
#endif
