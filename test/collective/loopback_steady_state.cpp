// SPDX-License-Identifier: Apache-2.0
// test: plain alone (it watches the heap itself)
#define BOOST_TEST_MODULE collective_loopback_steady_state
#include <laws/steady_state.hpp>
#include <support/worlds.hpp>
#include <tutti/transport/loopback.hpp>

BOOST_AUTO_TEST_CASE(a_prepared_operation_asks_for_no_memory_and_no_lock) {
  for (tutti::rank_type const n : {2U, 3U}) {
    for (std::size_t const bytes : {4UL, 1024UL, 16384UL}) {
      support::agree<tutti::loopback>(n, [&](auto& world) { return laws::steady_state(world, bytes); });
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_asked_for_is_seen) {
  support::agree<tutti::loopback>(2, [](auto& world) { return laws::what_is_asked_for_is_seen(world); });
}
