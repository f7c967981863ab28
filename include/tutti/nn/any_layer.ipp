// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/any_layer.hpp>

// Layers of these numbers, and all that they compute, are compiled here where TUTTI_SEPARATE_COMPILATION is defined;
// nothing includes this otherwise.
namespace tutti::inline v0_1_0::nn {

template class any_layer<float>;
template class any_layer<double>;

}  // namespace tutti::nn
