// SPDX-License-Identifier: Apache-2.0
// test: plain alone (it watches the heap itself)
//
// Prepared operations allocate nothing: their own memory (engine_memory.hpp) is kept from call to call.
#include <laws/steady_state.hpp>
#include <support/transports.hpp>
#include <support/worlds.hpp>
#include <tutti/detail/engine/engine_memory.hpp>

// TCP stores unexpected messages. Their number at a time varies, so it may allocate for several rounds.
template <class Transport>
inline constexpr int rounds = std::same_as<Transport, tutti::tcp> ? 20 : 1;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_prepared_operation_asks_for_no_memory_and_no_lock, Transport, support::transports) {
  for (tutti::rank_type const n : {2U, 3U}) {
    for (std::size_t const bytes : {4UL, 1024UL, 16384UL}) {
      support::agree<Transport>(n, [&](auto& world) { return laws::steady_state(world, bytes, rounds<Transport>); });
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_asked_for_is_seen, Transport, support::transports) {
  support::agree<Transport>(2, [](auto& world) { return laws::what_is_asked_for_is_seen(world); });
}
