// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/detail/device/replica.hpp>
#include <tutti/nn/detail/either_learner.hpp>
#include <tutti/nn/detail/host_learner.hpp>

namespace tutti::inline v0_1_0::nn::detail::device {

/// A replica that computes on the host or on a device: made of a model<float> or of a device_model.
template <device_math M>
using any_replica = basic_replica<either_learner<host_learner, device_learner<M>>>;

}  // namespace tutti::nn::detail::device
