// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::nn {

/// Divides a set into a training set and a test set, which has `share` of the images of each class, rounded. A class of
/// two images or more has at least one image on either side; one of one image is in the training set.
///
/// The choice is a function of labels, share and seed. Images keep their order.
/// Cost: copies the pixels; a set with a store shares it instead.
/// @pre the share is above 0 and below 1
[[nodiscard]] TUTTI_DECL data_pair split(dataset const& set, double share, std::uint64_t seed);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/split.ipp>
#endif
