// error: this topology has no such operation
// SPDX-License-Identifier: Apache-2.0
//
// A user's topology that lacks part of a schedule is refused by name where it is used.

#include <tutti/collective/broadcast.hpp>
#include <tutti/transport/loopback.hpp>

struct user_topology {
  static constexpr std::string_view name = "own";
  static constexpr bool keeps_rank_order = true;
  static constexpr bool sends_raw_contributions = true;

  constexpr std::uint32_t blocks(tutti::op::broadcast, tutti::rank_type) const { return 1; }
#ifndef MISTAKE
  constexpr std::uint32_t steps(tutti::op::broadcast, tutti::rank_type, tutti::rank_type) const { return 0; }
#endif
  constexpr tutti::step at(tutti::op::broadcast, tutti::rank_type, tutti::rank_type, std::uint32_t) const { return {}; }
};

void use(tutti::communicator<tutti::loopback>& world) {
  tutti::broadcast share{world, user_topology{}};
}

int main() {}
