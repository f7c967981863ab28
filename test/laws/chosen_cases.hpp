// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/chosen.hpp>
#include <support/cases.hpp>
#include <support/worlds.hpp>

namespace laws {

/// The test case of topologies that are chosen at run time, over one transport.
template <class Transport>
void chosen_topologies_equal_the_sequential_answer() {
  constexpr std::uint64_t seeds = 250;  // in each world
  for (rank_type const n : {1U, 2U, 3U, 5U, 6U, 8U, 11U}) {
    support::agree<Transport>(n, [](auto& world) -> std::string {
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        if (std::string const complaint = chosen(world, seed).check(); !complaint.empty()) {
          return "seed " + std::to_string(seed) + ": " + complaint;
        }
      }
      return {};
    });
  }
}

}  // namespace laws
