// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/extend/geometry.hpp>
#include <tutti/nn/extend/layer_list.hpp>

#include <span>

namespace tutti::inline v0_1_0::nn {

/// Makes layers from their descriptions: law: the descriptions of the result equal the given ones, but for the keys of
/// dropout.
/// @throws precondition_error if there are no such layers
[[nodiscard]] TUTTI_DECL layer_list<float> layers_of(std::span<geometry::variant const> descriptions);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/saved_model/layers_of.ipp>
#endif
