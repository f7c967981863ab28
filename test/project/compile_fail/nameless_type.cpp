// error: name the type of the elements, as in tutti::sum<float>\{\}
// SPDX-License-Identifier: Apache-2.0
//
// A reduction of numbers names their type.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

void use(tutti::communicator<tutti::loopback>& world) {
#ifdef MISTAKE
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum{}};
#else
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
#endif
}

int main() {}
