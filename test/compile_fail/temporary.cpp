// error: takes the same, of memory that lasts: a variable, a span
// SPDX-License-Identifier: Apache-2.0
//
// A started operation uses its memory after the call: a temporary would be gone by then.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <span>
#include <utility>
#include <vector>

void use(tutti::communicator<tutti::loopback>& world, std::vector<float>& gradients) {
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
  sum.start(gradients).wait();
  sum.start(std::span(gradients).first(1)).wait();
  sum.start(std::as_const(gradients), gradients).wait();
#ifdef MISTAKE
  sum.start(std::vector<float>(3)).wait();
#endif
}

int main() {}
