// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/class_counts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL std::vector<std::size_t> class_counts(dataset const& set) {
  std::vector<std::size_t> counts(set.classes);
  for (std::uint8_t const label : set.labels) {
    ++counts.at(label);
  }
  return counts;
}

TUTTI_DECL std::string describe_imbalance(dataset const& set) {
  constexpr std::size_t usual_ratio = 10;
  auto const counts = class_counts(set);
  if (counts.empty()) {
    return {};
  }
  auto const [smallest, largest] = std::ranges::minmax_element(counts);
  if (*smallest != 0 && *largest <= usual_ratio * *smallest) {
    return {};
  }
  auto const describe = [&](auto const count) {
    auto const c = static_cast<std::size_t>(count - counts.begin());
    return "class " + (set.class_names.empty() ? std::to_string(c) : set.class_names[c]) + " has " +
           (*count == 0 ? "no" : std::to_string(*count)) + (*count == 1 ? " image" : " images");
  };
  return describe(smallest) + " and " + describe(largest) +
         ": a model may learn to prefer large classes; add images of small ones, or leave out some of large ones";
}

}  // namespace tutti::nn
