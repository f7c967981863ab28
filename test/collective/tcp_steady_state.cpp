// SPDX-License-Identifier: Apache-2.0
// test: plain alone one_compiler (it watches the heap itself)
#define BOOST_TEST_MODULE collective_tcp_steady_state
#include <laws/steady_state.hpp>
#include <support/worlds.hpp>
#include <tutti/transport/tcp.hpp>

/// Messages that come before anybody waits for them are kept; how many at once is up to the machine.
BOOST_AUTO_TEST_CASE(a_prepared_operation_asks_for_no_memory_and_no_lock) {
  for (tutti::rank_type const n : {2U, 3U}) {
    for (std::size_t const bytes : {4UL, 1024UL, 16384UL}) {
      support::agree<tutti::tcp>(n, [&](auto& world) { return laws::steady_state(world, bytes, 20); });
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_asked_for_is_seen) {
  support::agree<tutti::tcp>(2, [](auto& world) { return laws::what_is_asked_for_is_seen(world); });
}
