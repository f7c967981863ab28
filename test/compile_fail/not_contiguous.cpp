// error: takes a buffer, as std::span\(ptr, count\), not const, and a root
// SPDX-License-Identifier: Apache-2.0
//
// A buffer is contiguous: a list is none.

#include <tutti/collective/broadcast.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>

#include <list>
#include <vector>

void use(tutti::communicator<tutti::loopback>& world) {
  tutti::broadcast share{world, tutti::star{}};
  std::vector<int> values(3);
  share(values, 0);
#ifdef MISTAKE
  std::list<int> scattered(3);
  share(scattered, 0);
#endif
}

int main() {}
