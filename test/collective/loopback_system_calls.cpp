// SPDX-License-Identifier: Apache-2.0
// test: plain alone (it watches system calls)
#define BOOST_TEST_MODULE collective_loopback_system_calls
#include <laws/system_calls.hpp>
#include <support/worlds.hpp>
#include <tutti/transport/loopback.hpp>

namespace {

using boost::unit_test::precondition;
using tutti::loopback;

BOOST_AUTO_TEST_CASE(who_does_not_wait_makes_no_system_call, *precondition(laws::system_calls_are_seen)) {
  for (std::size_t const bytes : {4UL, 1024UL, 16384UL}) {
    auto const complaint = laws::in_one_thread<loopback>(
        [&](auto& zero, auto& one) { return laws::no_call_without_waiting(zero, one, bytes); });
    BOOST_TEST(complaint == "");
  }
  auto const complaint = laws::in_one_thread<loopback>(
      [](auto& zero, auto& one) { return laws::calls_are_seen_without_waiting(zero, one); });
  BOOST_TEST(complaint == "");
}

BOOST_AUTO_TEST_CASE(ranks_with_a_core_each_make_no_system_call, *precondition(laws::cores_for_two)) {
  support::agree<loopback>(2, [](auto& world) { return laws::no_call_with_cores(world); });
  support::agree<loopback>(2, [](auto& world) { return laws::calls_are_seen_with_cores(world); });
}

}  // namespace
