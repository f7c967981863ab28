// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/channels_last.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/layer/residual.hpp>
#include <tutti/nn/layer/weight_norm.hpp>

// The instances of the layers for float and double, compiled here if TUTTI_SEPARATE_COMPILATION is defined; otherwise
// nothing includes this file.
namespace tutti::inline v0_1_0::nn {

template class dense<float, identity>;
template class dense<float, relu>;
template class dense<float, tanh>;
template class dense<float, sigmoid>;
template class conv2d<float, identity>;
template class conv2d<float, relu>;
template class conv2d<float, tanh>;
template class conv2d<float, sigmoid>;
template class max_pool<float>;
template class average_pool<float>;
template class batch_norm<float, identity>;
template class batch_norm<float, relu>;
template class dropout<float>;
template class channels_last<float>;
template class residual<float>;
template class weight_norm<float>;
template class dense<double, identity>;
template class dense<double, relu>;
template class dense<double, tanh>;
template class dense<double, sigmoid>;
template class conv2d<double, identity>;
template class conv2d<double, relu>;
template class conv2d<double, tanh>;
template class conv2d<double, sigmoid>;
template class max_pool<double>;
template class average_pool<double>;
template class batch_norm<double, identity>;
template class batch_norm<double, relu>;
template class dropout<double>;
template class channels_last<double>;
template class residual<double>;
template class weight_norm<double>;

}  // namespace tutti::nn
