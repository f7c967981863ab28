// error: the third argument of an operator that combines is a reduction
// SPDX-License-Identifier: Apache-2.0
//
// A bare lambda does not say whether it commutes: reduce_with does.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/functor.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/transport/loopback.hpp>

void use(tutti::communicator<tutti::loopback>& world) {
  auto const plus = [](int a, int b) { return a + b; };
  tutti::allreduce said{world, tutti::binary_tree{}, tutti::reduce_with<int>(plus)};
#ifdef MISTAKE
  tutti::allreduce unsaid{world, tutti::binary_tree{}, plus};
#endif
}

int main() {}
