// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/precision.hpp>
#include <tutti/nn/extend/layer_list.hpp>

namespace tutti::inline v0_1_0::nn {

/// The description of a replica on a device: the layers of a host's model, which are computed there instead.
struct device_model {
  layer_list<float> layers;                ///< each layer's inputs are the outputs of the one before
  precision numbers = precision::float32;  ///< precision of the computation
  int device = 0;                          ///< number of the device
};

}  // namespace tutti::nn
