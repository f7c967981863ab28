// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/basic_replica.hpp>
#include <tutti/nn/cuda/detail/device/learner.hpp>

#ifdef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/basic_replica.ipp>  // nn/compiled.cpp has only the host's
#endif

namespace tutti::inline v0_1_0::nn::detail::device {

/// A replica that computes on a device: made of a device_model.
template <device_math M>
using replica = basic_replica<device_learner<M>>;

}  // namespace tutti::nn::detail::device
