// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/detail/device/replica.hpp>
#include <tutti/nn/cuda/detail/runtime/math.hpp>

namespace tutti::inline v0_1_0::nn::cuda {

/// A replica that computes on a GPU of NVIDIA, by cuBLAS and cuDNN. Made of a `device_model`: the layers of a host's
/// model, the precision of their numbers, and a device. Any strategy trains it, beside replicas of hosts, too.
///
/// Making it makes its device the current one of that thread. Later it does not matter which one is.
///
/// Programs link tutti::nn_cuda, or compile tutti/nn/cuda/cuda.cu by nvcc, which cannot read this header.
using replica = detail::device::replica<detail::cuda::math>;

}  // namespace tutti::nn::cuda
