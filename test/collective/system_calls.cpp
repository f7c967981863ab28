// SPDX-License-Identifier: Apache-2.0
// test: plain alone (it watches system calls)
#include <laws/system_calls.hpp>
#include <support/transports.hpp>
#include <support/worlds.hpp>

namespace {

using boost::unit_test::precondition;

using memories = std::conditional_t<support::without_processes, support::transports,
                                    std::tuple<tutti::loopback, tutti::shared_memory>>;

BOOST_TEST_DECORATOR(*precondition(laws::system_calls_are_seen))
BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_that_do_not_wait_make_no_system_call, Transport, memories) {
  for (std::size_t const bytes : {4UL, 1024UL, 16384UL}) {
    auto const complaint = laws::in_one_thread<Transport>(
        [&](auto& first, auto& second) { return laws::no_call_without_waiting(first, second, bytes); });
    BOOST_TEST(complaint == "");
  }
  auto const complaint = laws::in_one_thread<Transport>(
      [](auto& first, auto& second) { return laws::calls_are_seen_without_waiting(first, second); });
  BOOST_TEST(complaint == "");
}

BOOST_TEST_DECORATOR(*precondition(laws::cores_for_two))
BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_with_a_core_each_make_no_system_call, Transport, memories) {
  support::agree<Transport>(2, [](auto& world) { return laws::no_call_with_cores(world); });
  support::agree<Transport>(2, [](auto& world) { return laws::calls_are_seen_with_cores(world); });
}

}  // namespace
