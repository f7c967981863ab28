// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <faults/trials.hpp>
#include <laws/drawn_operations.hpp>
#include <tutti/spawn.hpp>

#include <complex>
#include <type_traits>

namespace tutti::faults {

/// The program of one transport: draws 40 operations in each of its worlds of 1 to 9 ranks.
template <class Transport, class Parts, class Reductions, class MovedTypes>
int compare_answers(int argc, char** argv, std::uint64_t usual) {
  return run_trials(argc, argv, "draws operations, schedules and buffers: the answers are the sequential ones", usual,
                    "none: drawn operations", [](std::uint64_t seed) -> support::verdict {
                      laws::dice first(seed);
                      auto const n = static_cast<rank_type>(1 + first.draw_below(9));
                      auto const results = spawn<Transport>(n, [seed](auto& world) -> support::verdict {
                        world.deadline(std::chrono::seconds(40));
                        using world_type = std::remove_reference_t<decltype(world)>;
                        return laws::drawn_operations<world_type, Parts, Reductions, MovedTypes>(world, seed).run(40);
                      });
                      support::verdict complaint;
                      for (rank_type r = 0; r < n; ++r) {
                        std::string const rank = std::to_string(n) + " ranks, rank " + std::to_string(r) + ": ";
                        if (!results[r]) {
                          complaint = rank + results[r].failure().text;
                        } else if (!results[r].value().empty()) {
                          return classify_undisturbed(rank + results[r].value());
                        }
                      }
                      return classify_undisturbed(complaint);
                    });
}

}  // namespace tutti::faults
