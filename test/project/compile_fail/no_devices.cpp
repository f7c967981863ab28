// error: takes device memory of the reduction's type and a stream, over cuda::peers
// SPDX-License-Identifier: Apache-2.0
//
// Operators over a transport without devices have no `enqueue`.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

void use(tutti::communicator<tutti::loopback>& world, tutti::device_span<float> data, int stream) {
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
#ifdef MISTAKE
  sum.enqueue(data, stream);
#endif
  static_cast<void>(data);
  static_cast<void>(stream);
}

int main() {}
