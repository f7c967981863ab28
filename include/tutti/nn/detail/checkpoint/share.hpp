// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/broadcast.hpp>
#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/nn/checkpoint/base/state.hpp>
#include <tutti/topology/doubling.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

/// Broadcasts a text from the root.
template <group Communicator>
void share(Communicator& world, std::string& text, rank_type root) {
  tutti::broadcast give{world, doubling{}};
  std::array<std::uint64_t, 1> length{text.size()};
  give(length, root);
  text.resize(tutti::detail::integer_cast<std::size_t>(length[0]));
  give(text, root);
}

/// Broadcasts a state from the root. Cost: five broadcasts, one of them of a training's whole state.
template <group Communicator>
void share(Communicator& world, training_state& state, rank_type root) {
  tutti::broadcast give{world, doubling{}};
  std::array<std::uint64_t, 6> head{state.place.epoch,       state.place.batch,      state.ranks,
                                    state.parameters.size(), state.optimizer.size(), state.statistics.size()};
  give(head, root);
  state.place = {tutti::detail::integer_cast<std::size_t>(head[0]), tutti::detail::integer_cast<std::size_t>(head[1])};
  state.ranks = static_cast<rank_type>(head[2]);
  auto const numbers = [&](std::vector<float>& destination, std::uint64_t count) {
    destination.resize(tutti::detail::integer_cast<std::size_t>(count));
    give(destination, root);
  };
  numbers(state.parameters, head[3]);
  numbers(state.optimizer, head[4]);
  numbers(state.statistics, head[5]);
  share(world, state.history, root);
}

}  // namespace tutti::nn::detail::checkpoint
