// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The number of images of each class.
[[nodiscard]] TUTTI_DECL std::vector<std::size_t> class_counts(dataset const& set);

/// A sentence about a training set in which a class has no image, or the largest class more than 10 times the images of
/// the smallest; empty otherwise.
[[nodiscard]] TUTTI_DECL std::string describe_imbalance(dataset const& set);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/class_counts.ipp>
#endif
