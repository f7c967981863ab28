// error: a topology that has state must tell it
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that run different schedules must be detected, so the arguments of a topology must be part of the call.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>

struct user_topology : tutti::star {
  static constexpr std::string_view name = "own";

  tutti::rank_type server = 0;
#ifndef MISTAKE
  constexpr tutti::topology_settings settings(tutti::rank_type) const { return {server, "server"}; }
#endif
};

void use(tutti::communicator<tutti::loopback>& world) {
  tutti::allreduce sum{world, user_topology{}, tutti::sum<float>{}};
}

int main() {}
