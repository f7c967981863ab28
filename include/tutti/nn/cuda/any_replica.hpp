// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/detail/device/any_replica.hpp>
#include <tutti/nn/cuda/detail/runtime/math.hpp>

namespace tutti::inline v0_1_0::nn::cuda {

/// A replica of which the program says at run time whether it computes on the host or on a GPU of NVIDIA: made of what
/// a `replica` is made of, there or here. Its bits are those of the one that is chosen. So ranks of both kinds run one
/// program, compiled once.
///
///     using replica = tutti::nn::cuda::any_replica;
///     auto const make = [&]() -> replica::made_of {
///       if (on_gpu) {
///         return tutti::nn::device_model{layers, tutti::nn::precision::bfloat16, card};
///       }
///       return tutti::nn::model<float>(layers, replica::attached);
///     };
///     replica mine(make(), images, tests, settings, world.rank(), world.size());
///
/// Any strategy that sums in host memory trains it; `device_synchronous` does not.
///
/// Programs link tutti::nn_cuda, or compile tutti/nn/cuda/cuda.cu by nvcc, which cannot read this header.
using any_replica = detail::device::any_replica<detail::cuda::math>;

}  // namespace tutti::nn::cuda
