// SPDX-License-Identifier: Apache-2.0
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

int main() {
  auto const results = tutti::spawn<tutti::tcp>(2, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    int value[1] = {static_cast<int>(world.rank()) + 1};
    sum(value);
    return value[0];
  });
  return results[0].value() == 3 && results[1].value() == 3 ? 0 : 1;
}
