// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allgather.hpp>
#include <tutti/nn/checkpoint/base/history_text.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>
#include <tutti/nn/detail/checkpoint/share.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/topology/doubling.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Returns the state from which the ranks of a new world continue: that of the most advanced one. Survivors of a fault
/// are at most one step apart, because no rank ends a step that another has not begun; a rank that has ended it holds
/// the weights that all would have. The layers' statistics remain each rank's own. If processes have entered, every
/// rank gets the mean of the other ranks' statistics, as after a checkpoint with another number of ranks.
///
/// Collective. Cost: two allgathers of a few numbers, one broadcast of a training's whole state.
template <group Communicator>
[[nodiscard]] training_state latest_state(Communicator& world, replica& model, history const& history) {
  tutti::allgather collect{world, doubling{}};
  std::vector<training_position> places(world.size());
  training_position const local_place = model.position();
  collect(std::span(&local_place, 1), places);
  auto const furthest = static_cast<rank_type>(std::ranges::max_element(places) - places.begin());
  training_state state;
  if (world.rank() == furthest) {
    state.place = local_place;
    state.parameters.assign(model.parameters().begin(), model.parameters().end());
    state.optimizer.assign(model.optimizer_state().begin(), model.optimizer_state().end());
    state.history = encode(history);
  }
  detail::share(world, state, furthest);
  auto const is_new = [&](rank_type r) { return places[r] == training_position{} && places[furthest] != places[r]; };
  state.ranks = 0;
  auto const statistics = detail::weighed_statistics(model);
  std::vector<float> all_statistics(statistics.size() * world.size());
  if (!statistics.empty()) {
    collect(statistics, all_statistics);
  }
  for (rank_type r = 0; r != world.size(); ++r) {
    if (!is_new(r)) {
      ++state.ranks;
      auto const part = std::span(all_statistics).subspan(statistics.size() * r, statistics.size());
      state.statistics.insert(state.statistics.end(), part.begin(), part.end());
    }
  }
  return state;
}

}  // namespace tutti::nn
