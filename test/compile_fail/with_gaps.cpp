// error: as std::span\(ptr, count\)
// SPDX-License-Identifier: Apache-2.0
//
// A class with data() and size() may have strides as well; the message says how to pass it.

#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <span>

struct plane {
  float* data();
  int size();
  int stride();
};

void use(tutti::communicator<tutti::loopback>& world, plane& p) {
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
  sum(std::span(p.data(), 12));
#ifdef MISTAKE
  sum(p);
#endif
}

int main() {}
