// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu.hpp"
#include <tutti/nn/any_layer.hpp>
#include <tutti/nn/precision.hpp>
#ifdef TRAIN_HAS_CUDA
#include <tutti/nn/cuda/any_replica.hpp>
#else
#include <tutti/nn/replica.hpp>
#endif

#include <vector>

/// What a rank trains: on its host, or with CUDA also on a GPU.
#ifdef TRAIN_HAS_CUDA
using trained_replica = tutti::nn::cuda::any_replica;
#else
using trained_replica = tutti::nn::replica;
#endif

/// What it is made of there. In cuda.cpp, or in without_cuda.cpp.
trained_replica::made_of made_for(std::vector<tutti::nn::any_layer<float>> layers, card on,
                                  tutti::nn::precision numbers);
