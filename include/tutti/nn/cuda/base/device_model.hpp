// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/precision.hpp>
#include <tutti/nn/extend/layer_list.hpp>

namespace tutti::inline v0_1_0::nn {

/// What a replica on a device is made of: the layers of a host's model, which compute there instead.
struct device_model {
  layer_list<float> layers;                ///< each takes what the one before it gives
  precision numbers = precision::float32;  ///< what the device computes with
  int device = 0;                          ///< its number
};

}  // namespace tutti::nn
