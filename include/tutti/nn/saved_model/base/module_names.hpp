// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/extend/geometry.hpp>

#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

/// The names in PyTorch of the layers that have weights, in the order of their weights. They follow from the structure
/// alone, so that the names of a ResNet, a VGG or an AlexNet are those of torchvision:
///
/// - Layers with residual blocks among them: `conv1`, `bn1`, and `fc` for the only dense layer, else `fc1`, `fc2`. A
///   block is `layer<stage>.<block>`; the first block begins a stage, and so does each later one with a projection. Its
///   body has such names inside, its projection is `downsample`, a sequence.
/// - Other layers: `torch.nn.Sequential`, in which a layer and its activation are two modules. If dense layers follow
///   an image, the sequence before them is `features`, and theirs, with dropout, is `classifier`.
[[nodiscard]] TUTTI_DECL std::vector<std::string> module_names(std::span<geometry::variant const> layers);

}  // namespace tutti::nn::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/saved_model/base/module_names.ipp>
#endif
