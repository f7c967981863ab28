// error: the first argument of an operator is a communicator
// SPDX-License-Identifier: Apache-2.0
//
// Arguments that are no variables are judged, too.

#include <tutti/collective/broadcast.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

void use(tutti::communicator<tutti::loopback>& world) {
  tutti::broadcast right{world, tutti::ring{}};
#ifdef MISTAKE
  tutti::broadcast wrong{tutti::ring{}, world};
#endif
}

int main() {}
