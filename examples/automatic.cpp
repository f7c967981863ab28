// SPDX-License-Identifier: Apache-2.0
//
// Measures the world, picks schedule and segments for each size, and prints the reasons.
#include <tutti/automatic.hpp>
#include <tutti/tutti.hpp>

#include <cstdio>
#include <string>
#include <vector>

int main() {
  auto const results = tutti::spawn<tutti::loopback>(3, [](auto& world) {
    tutti::automatic const best{world};  // some milliseconds; {world, {.file = "profile.txt"}} keeps what it learns
    best.prefer("allreduce:-64=star");   // a user's own knowledge, set on every rank

    // Measures the promising schedules on a vector of a size that matters, which is overwritten.
    std::vector<float> gradients(100'000);
    best.autotune(world, tutti::op::allreduce{}, gradients);

    tutti::allreduce sum{world, best, tutti::sum<float>{}};
    for (std::size_t const count : {1U, 100U, 100'000U}) {
      std::vector<float> v(count, 1.F);
      sum(v);
      if (v.back() != 3.F) {
        return std::string("wrong");
      }
    }
    return sum.explain(400'000);
  });
  for (auto const& result : results) {
    if (!result.value().starts_with("allreduce of 400000 bytes over 3 ranks: ")) {
      return 1;
    }
  }
  std::fputs(results.front().value().c_str(), stdout);
}
