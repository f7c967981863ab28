// error: takes buffers of the reduction's type, as std::span\(ptr, count\)
// SPDX-License-Identifier: Apache-2.0
//
// A number is no buffer; a span of it is.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <span>

void use(tutti::communicator<tutti::loopback>& world, float& loss) {
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
  sum(std::span(&loss, 1));
#ifdef MISTAKE
  sum(loss);
#endif
}

int main() {}
