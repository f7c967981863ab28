// error: the second argument of an operator is a topology
// SPDX-License-Identifier: Apache-2.0
//
// An operator is made of a communicator, a topology and a reduction, in this order.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

void use(tutti::communicator<tutti::loopback>& world) {
  tutti::allreduce right{world, tutti::ring{}, tutti::sum<float>{}};
#ifdef MISTAKE
  tutti::allreduce wrong{world, tutti::sum<float>{}, tutti::ring{}};
#endif
}

int main() {}
