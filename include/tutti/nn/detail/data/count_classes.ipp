// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/data/count_classes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0::nn::detail::inline data {

TUTTI_DECL void count_classes(data_pair& data) {
  std::uint8_t least = UINT8_MAX;
  std::uint8_t largest = 0;
  for (dataset const* const set : {&data.training, &data.test}) {
    for (std::uint8_t const label : set->labels) {
      least = (std::min)(least, label);
      largest = (std::max)(largest, label);
    }
  }
  std::size_t const shift = least == 0 ? 0 : 1;
  for (dataset* const set : {&data.training, &data.test}) {
    set->classes = largest + std::size_t{1} - shift;
    for (std::uint8_t& label : set->labels) {
      label = static_cast<std::uint8_t>(label - shift);
    }
    for (std::size_t c = 0; shift != 0 && c != set->classes; ++c) {
      set->class_names.push_back(std::to_string(c + shift));
    }
  }
}

}  // namespace tutti::nn::detail::data
