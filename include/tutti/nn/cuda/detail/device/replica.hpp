// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/nn/cuda/detail/device/learner.hpp>
#include <tutti/nn/replica.hpp>

#include <memory>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::device {

/// A replica that computes on a device.
template <device_math M>
class replica : public nn::replica {
 public:
  /// @pre the model fits the data, which outlive this
  replica(device_model model, dataset const& training, dataset const& test, nn::settings const& settings,
          rank_type rank, rank_type size)
      : nn::replica(std::make_unique<device_learner<M>>(std::move(model), settings), training, test, settings, rank,
                    size) {}
};

}  // namespace tutti::nn::detail::device
