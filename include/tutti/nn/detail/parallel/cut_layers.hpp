// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline parallel {

/// Divides a sequence of layers into this many stages of at least one layer, with the least cost of the most
/// expensive stage. Returns the first layer of each stage, and the number of layers.
///
/// Cost: layers^2 x stages.
/// @pre 1 <= stages <= layers
[[nodiscard]] TUTTI_DECL std::vector<std::size_t> cut_layers(std::span<std::size_t const> costs, std::size_t stages);

}  // namespace tutti::nn::detail::parallel

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/parallel/cut_layers.ipp>
#endif
