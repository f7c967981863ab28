// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE automatic_processes
#include <laws/reducing_operators.hpp>
#include <support/worlds.hpp>
#include <tutti/automatic.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <string>

namespace {

/// A world that is measured sums right by what is picked.
template <class Transport>
void sums_are_right() {
  for (auto const n : {2U, 3U}) {
    support::agree<Transport>(n, [](auto& world) {
      tutti::automatic const best(world, {.how = {.budget = std::chrono::milliseconds(1)}});
      return laws::reducing(world, best, tutti::sum<float>{}, 1023);
    });
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(through_shared_memory) {
  sums_are_right<tutti::shared_memory>();
}

BOOST_AUTO_TEST_CASE(over_tcp) {
  sums_are_right<tutti::tcp>();
}
