// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/cuda/base/device_model.hpp>
#include <tutti/nn/cuda/detail/device/replica.hpp>
#include <tutti/nn/cuda/detail/runtime/math.hpp>
#include <tutti/nn/extend/learner.hpp>

#include <memory>
#include <utility>

namespace tutti::inline v0_1_0::nn::cuda {

/// A replica that computes on a GPU of NVIDIA, by cuBLAS and cuDNN. Made of a `device_model`: the layers of a host's
/// model, the precision of their numbers, and a device.
///
/// It adds nothing to a `tutti::nn::replica`, which can be moved from it. So a program that decides when it runs
/// whether a rank computes on its host or on a GPU has one type for both:
///
///     auto const make = [&]() -> tutti::nn::replica {
///       if (on_gpu) {
///         return tutti::nn::cuda::replica(tutti::nn::device_model{layers, tutti::nn::precision::bfloat16, card},
///         images,
///                                         tests, settings, world.rank(), world.size());
///       }
///       return {tutti::nn::model<float>(layers, tutti::nn::replica::attached), images, tests, settings, world.rank(),
///               world.size()};
///     };
///
/// Any strategy that sums in host memory trains both; `device_synchronous` takes replicas on GPUs alone.
///
/// Making it makes its device the current one of that thread. Later it does not matter which one is.
///
/// Programs link tutti::nn_cuda, or compile tutti/nn/cuda/cuda.cu by nvcc, which cannot read this header.
using replica = detail::device::replica<detail::runtime::math>;

/// A learner on a GPU, for a replica of it.
/// @throws error: there is no such device, or not enough memory
[[nodiscard]] inline std::unique_ptr<learner> make_learner(device_model model, settings const& settings) {
  return std::make_unique<detail::device::device_learner<detail::runtime::math>>(std::move(model), settings);
}

}  // namespace tutti::nn::cuda
