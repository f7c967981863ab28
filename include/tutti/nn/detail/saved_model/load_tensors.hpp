// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/detail/saved_model/tensor_file.hpp>
#include <tutti/nn/saved_model/base/description.hpp>

#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline saved_model {

/// The description in a file's metadata.
/// @throws model_error if there is none, or it is damaged
[[nodiscard]] TUTTI_DECL model_description description_in(tensor_file const& file);

/// Reads the tensors of these layers. All are checked before the first is read.
/// @param new_head true: a last dense layer with another number of outputs is left as it is
/// @returns the names of the tensors that were left as they are
/// @pre the vectors have the sizes of the layers
/// @throws model_error that names the tensor
TUTTI_DECL std::vector<std::string> load_tensors(tensor_file const& file, std::span<geometry::variant const> layers,
                                                 std::span<float> parameters, std::span<float> statistics,
                                                 bool new_head);

}  // namespace tutti::nn::detail::saved_model

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/saved_model/load_tensors.ipp>
#endif
