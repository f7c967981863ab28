// error: outputs not const|not const, and a root
// SPDX-License-Identifier: Apache-2.0
//
// An operation in place writes its buffer.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <array>

void use(tutti::communicator<tutti::loopback>& world) {
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
  std::array<float, 3> const input{};
  std::array<float, 3> output{};
  sum(input, output);
#ifdef MISTAKE
  sum(input);
#endif
}

int main() {}
