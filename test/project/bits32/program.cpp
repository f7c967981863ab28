// SPDX-License-Identifier: Apache-2.0
//
// A program for a 32-bit processor: a sum over each transport, and one in memory that peers read.

#include <tutti/allocator.hpp>
#include <tutti/join.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <cstdio>
#include <vector>

static_assert(sizeof(void*) == 4);

template <class Transport>
static bool adds() {
  bool is_right = true;
  for (auto const& end : tutti::spawn<Transport>(3, [](auto& world) {
         tutti::allreduce sum{world, tutti::ring{}, tutti::sum<double>{}};
         std::vector<double> values(100'000, 2);
         sum(values);
         if constexpr (requires { world.transport().memory(); }) {
           std::vector<double, tutti::allocator<double>> shared_values(100'000, 2, tutti::allocator<double>(world));
           sum(shared_values);
           values.back() += shared_values.back() - 6;
         }
         return values.back();
       })) {
    is_right = is_right && end && end.value() == 6;
    if (!end) {
      std::puts(end.failure().text.c_str());
    }
  }
  return is_right;
}

int main() {
  return adds<tutti::loopback>() && adds<tutti::shared_memory>() && adds<tutti::tcp>() ? 0 : 1;
}
