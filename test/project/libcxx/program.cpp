// SPDX-License-Identifier: Apache-2.0
//
// Built with the other standard library, in strict C++20: includes every header that needs only a standard library and
// the platform, and makes the same sum over each transport.

#include <tutti/automatic.hpp>
#include <tutti/gather_timelines.hpp>
#include <tutti/join.hpp>
#include <tutti/progress_thread.hpp>
#include <tutti/shrink.hpp>
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>
#if __has_include(<tutti/simulation/simulate.hpp>)
#include <tutti/simulation/simulate.hpp>
#include <tutti/simulation/simulate_schedule.hpp>
#endif

#include <cstdio>
#include <vector>

#if !defined(_LIBCPP_VERSION)
#error "this is to be read with libc++"
#endif

template <class Transport>
static bool adds() {
  bool right = true;
  for (auto const& end : tutti::spawn<Transport>(3, [](auto& world) {
         std::vector<int> values(1000, 2);
         tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}}(values);
         return values[999];
       })) {
    right = right && end && end.value() == 6;
    if (!end) {
      std::puts(end.failure().text.c_str());
    }
  }
  return right;
}

int main() {
  return adds<tutti::loopback>() && adds<tutti::shared_memory>() && adds<tutti::tcp>() ? 0 : 1;
}
