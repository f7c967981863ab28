// error: the reduction is not declared commutative.*add tutti::commutative
// SPDX-License-Identifier: Apache-2.0
//
// A ring combines each block in an order that starts at another rank; a reduction that is not commutative needs a
// topology that keeps the order of ranks.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

void use(tutti::communicator<tutti::loopback>& world) {
  auto const left = tutti::reduce_with<int>([](int a, int) { return a; });
  tutti::allreduce in_order{world, tutti::binary_tree{}, left};
#ifdef MISTAKE
  tutti::allreduce out_of_order{world, tutti::ring{}, left};
#endif
}

int main() {}
