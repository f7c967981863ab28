// error: this topology sends partial results: take direct or star
// SPDX-License-Identifier: Apache-2.0
//
// A ring sends partial sums. Those of half or bfloat16 summed in float are floats: twice as long as the elements.

#include <tutti/collective/allreduce.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

void use(tutti::communicator<tutti::loopback>& world) {
  tutti::accumulate_in<float, tutti::sum<tutti::half>> const once;
  tutti::allreduce rounded_once{world, tutti::direct{}, once};
  tutti::allreduce rounded_at_every_hop{world, tutti::ring{}, tutti::sum<tutti::half>{}};
#ifdef MISTAKE
  tutti::allreduce partial_sums{world, tutti::ring{}, once};
#endif
}

int main() {}
