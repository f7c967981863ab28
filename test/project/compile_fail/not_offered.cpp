// error: this topology has no alltoall; direct and doubling have
// SPDX-License-Identifier: Apache-2.0
//
// A topology runs the operations that it has schedules for, and no others.

#include <tutti/collective/alltoall.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/transport/loopback.hpp>

void use(tutti::communicator<tutti::loopback>& world) {
  tutti::alltoall exchange{world, tutti::direct{}};
#ifdef MISTAKE
  tutti::alltoall along_a_tree{world, tutti::binary_tree{}};
#endif
}

int main() {}
