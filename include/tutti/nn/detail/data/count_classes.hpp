// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

namespace tutti::inline v0_1_0::nn::detail::inline data {

/// Counts the classes of two sets by the labels of both. If no label is 0, labels begin at 1: they are shifted to begin
/// at 0, and the classes are named by the numbers in the file.
TUTTI_DECL void count_classes(data_pair& data);

}  // namespace tutti::nn::detail::data

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/data/count_classes.ipp>
#endif
