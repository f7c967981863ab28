// error: else give tutti::named<
// SPDX-License-Identifier: Apache-2.0
//
// The type of a pointer to a function does not say which function all ranks are to give.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/functor.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/transport/loopback.hpp>

int add(int a, int b);

void use(tutti::communicator<tutti::loopback>& world) {
  tutti::allreduce total{world, tutti::doubling{}, tutti::reduce_with<int>(add, tutti::named<"add">)};
#ifdef MISTAKE
  tutti::allreduce other{world, tutti::doubling{}, tutti::reduce_with<int>(add)};
#endif
}

int main() {}
