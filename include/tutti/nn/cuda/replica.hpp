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

/// A replica that computes on an NVIDIA GPU, by cuBLAS and cuDNN. Constructed from a `device_model`: the layers of a
/// host's model, the precision of their numbers, and a device.
///
/// Adds no members to `tutti::nn::replica`, so it can be moved into one. A program that chooses between host and GPU
/// at run time then has one type for both:
///
///     auto const make = [&]() -> tutti::nn::replica {
///       if (on_gpu) {
///         return tutti::nn::cuda::replica(
///             tutti::nn::device_model{layers, tutti::nn::precision::bfloat16, device}, images, tests, settings,
///             world.rank(), world.size());
///       }
///       return {tutti::nn::model<float>(layers, tutti::nn::replica::extra_scalars), images, tests, settings,
///               world.rank(), world.size()};
///     };
///
/// Any strategy that sums in host memory trains both; `device_synchronous` takes replicas on GPUs only.
///
/// The constructor makes the device current in its thread. Later calls work with any current device.
///
/// Programs link tutti::nn_cuda, or compile tutti/nn/cuda/cuda.cu with nvcc, which cannot read this header.
using replica = detail::device::replica<detail::runtime::math>;

/// A learner on a GPU, for a replica.
/// @throws error if the device does not exist or has not enough memory
[[nodiscard]] inline std::unique_ptr<learner> make_learner(device_model model, settings const& settings) {
  return std::make_unique<detail::device::device_learner<detail::runtime::math>>(std::move(model), settings);
}

}  // namespace tutti::nn::cuda
