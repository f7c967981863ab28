// SPDX-License-Identifier: Apache-2.0
//
// A library that hides its tutti. NAME is its only function.

#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <cstdio>
#include <exception>
#include <vector>

/// Sums of two ranks, two of them under way at once.
template <class Transport>
static bool adds_up() {
  auto const results = tutti::spawn<Transport>(2, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<double>{}};
    std::vector<double> first(1000, 1.0 + world.rank());
    std::vector<double> second(3, 2.0 + world.rank());
    auto pending = sum.start(first);
    sum(second);
    pending.wait();
    return first.back() + second.back();
  });
  return results[0].value() == 8 && results[1].value() == 8;
}

/// An error of this version is caught here.
static bool notices_a_mismatch() {
  auto const results = tutti::spawn<tutti::loopback>(2, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<double>{}};
    std::vector<double> values(10 + world.rank());
    try {
      sum(values);
    } catch (tutti::error const& e) {
      return e.kind() == tutti::failure::mismatch;
    }
    return false;
  });
  return results[0].value() && results[1].value();
}

/// The number of failed checks, or 10 after an exception.
extern "C" int NAME() {
  try {
    return (adds_up<tutti::loopback>() ? 0 : 1) + (adds_up<tutti::shared_memory>() ? 0 : 1) +
           (adds_up<tutti::tcp>() ? 0 : 1) + (notices_a_mismatch() ? 0 : 1);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 10;
  }
}
