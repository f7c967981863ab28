// SPDX-License-Identifier: Apache-2.0
// test: address thread
//
// A rank ends its world on purpose, over each transport.
#include <laws/abort.hpp>
#include <support/hosts_too.hpp>
#include <transport/tcp_world.hpp>
#include <tutti/collective/abort_handle.hpp>
#include <tutti/detail/communicator/family.hpp>

namespace {

BOOST_AUTO_TEST_CASE_TEMPLATE(every_wait, Transport, support::transports_and_hosts) {
  laws::an_abort_ends_every_wait<Transport>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_own_wait, Transport, support::transports_and_hosts) {
  laws::an_abort_ends_the_own_wait<Transport>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_that_computes, Transport, support::transports_and_hosts) {
  laws::an_abort_meets_a_rank_that_computes<Transport>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(parts_and_wholes, Transport, support::transports_and_hosts) {
  laws::an_abort_ends_parts_and_wholes<Transport>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(parts_that_have_not_heard, Transport, support::transports_and_hosts) {
  laws::an_abort_reaches_parts_that_have_not_heard<Transport>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_another_thread_uses, Transport, support::transports_and_hosts) {
  laws::a_thread_serves_what_another_uses<Transport>();
}

BOOST_AUTO_TEST_CASE(a_served_world) {
  laws::a_world_over_tcp_is_served<tutti::support::secret_ranks<>>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(parts_that_come_and_go, Transport, support::transports_and_hosts) {
  laws::an_abort_meets_parts_that_come_and_go<Transport>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(two_aborts, Transport, support::transports_and_hosts) {
  laws::two_aborts_are_one<Transport>(Transport::name == "loopback" || Transport::name == "shared_memory");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_handle, Transport, support::transports_and_hosts) {
  laws::a_handle_outlives_its_world<Transport>();
}

}  // namespace
