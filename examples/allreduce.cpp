// SPDX-License-Identifier: Apache-2.0
//
// A first example: four ranks, each a process of this host, sum their vectors.
#include <tutti/tutti.hpp>

#include <cstdio>
#include <vector>

int main() {
  auto const results = tutti::spawn<tutti::shared_memory>(4, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};

    std::vector<float> gradients(1000, static_cast<float>(world.rank()));
    sum(gradients);                       // in place, blocking
    auto pending = sum.start(gradients);  // starts; the rank may do something else meanwhile
    pending.wait();

    tutti::broadcast share{world, tutti::binary_tree{}};
    share(gradients, /*root=*/0);
    return gradients.front();
  });

  for (auto const& result : results) {
    std::printf("%g\n", static_cast<double>(result.value()));  // throws what the rank threw, if it failed
  }
}
