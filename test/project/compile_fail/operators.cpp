// errors: beside the lines
// SPDX-License-Identifier: Apache-2.0
//
// An operator is made from a communicator, a topology and, if it combines, a reduction, in this order.

#include <tutti/tutti.hpp>

void use(tutti::communicator<tutti::loopback>& world, tutti::communicator<tutti::loopback> const& constant) {
  auto const plus = [](int a, int b) { return a + b; };
  tutti::ring const ring;
  tutti::sum<float> const sum;

  tutti::allreduce right{world, ring, sum};
  tutti::allreduce tree_sum{world, tutti::binary_tree{}, tutti::reduce_with<int>(plus)};
  tutti::broadcast alike{world, ring};
  tutti::send give{world};
  static_cast<void>(constant);
#ifdef MISTAKE
  tutti::allreduce{world, ring};                   // error: the reduction is missing
  tutti::allreduce{world, sum};                    // error: the topology is missing
  tutti::allreduce{world};                         // error: the topology is missing
  tutti::allreduce{world, sum, ring};              // error: the second argument of an operator is a topology
  tutti::allreduce{world, ring, plus};             // error: the third argument .* is a reduction
  tutti::allreduce{world, ring, sum, 1};           // error: here are more
  tutti::allreduce{ring, world, sum};              // error: the first argument of an operator is a communicator
  tutti::allreduce{constant, ring, sum};           // error: a communicator, a variable that is not const
  tutti::allreduce{tutti::dup(world), ring, sum};  // error: this communicator ends with the expression
  tutti::reduce{world, ring};                      // error: the reduction is missing
  tutti::scan{world, ring, sum};                   // error: no scan or exscan; chain and doubling have both
  tutti::exscan{world, tutti::star{}, sum};        // error: no scan or exscan; chain and doubling have both
  tutti::reduce_scatter{world, sum};               // error: the topology is missing
  tutti::broadcast{world, ring, sum};              // error: here are more
  tutti::broadcast{world};                         // error: the topology is missing
  tutti::broadcast{tutti::ring{}, world};          // error: the first argument of an operator is a communicator
  tutti::barrier{world, sum};                      // error: the second argument of an operator is a topology
  tutti::send{world, ring};                        // error: of a communicator alone: no topology
  tutti::recv{ring};                               // error: send and recv are made of a communicator
#endif
}

int main() {}
