// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Images with their labels, as they are given to what computes.
struct image_batch {
  std::span<float const> numbers;        ///< image after image
  std::span<std::uint8_t const> labels;  ///< one for each image
};

}  // namespace tutti::nn
