// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/nn/base/training_position.hpp>

#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

/// The part that one rank writes.
struct part_view {
  std::span<float const> parameters;
  std::span<float const> optimizer;
  std::span<float const> statistics;
  std::string const& strategy;
};
/// A part that was read.
struct training_part {
  std::vector<float> parameters;
  std::vector<float> optimizer;
  std::vector<float> statistics;
  std::string strategy;  ///< state of the rank's strategy
};

/// A view of a state, for writing.
struct state_view {
  training_position place;
  rank_type ranks;
  std::span<float const> parameters;
  std::span<float const> optimizer;
  std::span<float const> statistics;
  std::string const& history;
};

}  // namespace tutti::nn::detail::checkpoint
