// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0 {

/// What a device in the network may do with elements. The numbers travel in packets, so they never
/// change.
enum class network_operation : std::uint8_t {
  none = 0,
  copy = 1,
  sum_float32 = 2,
  max_float32 = 3,
  saturating_sum_int32 = 4,
  update = 5,  ///< the sum of gradients, float32, by which weights that the device holds are moved
};

}  // namespace tutti
