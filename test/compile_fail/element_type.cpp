// error: takes buffers of the reduction's type, as std::span
// SPDX-License-Identifier: Apache-2.0
//
// sum<float> does not add up doubles.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <vector>

void use(tutti::communicator<tutti::loopback>& world) {
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
  std::vector<float> right(3);
  sum(right);
#ifdef MISTAKE
  std::vector<double> wrong(3);
  sum(wrong);
#endif
}

int main() {}
