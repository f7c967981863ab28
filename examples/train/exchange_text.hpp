// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/extend/types.hpp>

#include <string>
#include <utility>
#include <vector>

/// Gathers the texts of all ranks. Collective.
template <class Communicator>
std::vector<std::string> exchange_text(Communicator& world, std::string const& text) {
  std::vector<tutti::rank_type> all_ranks(world.size());
  for (tutti::rank_type r = 0; r != world.size(); ++r) {
    all_ranks[r] = r;
  }
  return tutti::group_rendezvous(world, std::move(all_ranks), world.rank()).exchange(text);
}
