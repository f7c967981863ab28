// SPDX-License-Identifier: Apache-2.0
// test: address (which numbers there are, not when)
#include <laws/numbering.hpp>
#include <support/hosts_too.hpp>

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_number_their_operations_alike, Transport, support::transports_of_the_engine) {
  laws::check_numbering<Transport>(std::same_as<Transport, tutti::loopback> ? 40 : 20);
}

using between_hosts = std::conditional_t<support::is_watched, support::no_transport, support::only_hosts>;
BOOST_AUTO_TEST_CASE_TEMPLATE(hosts_number_their_operations_alike, Transport, between_hosts) {
  laws::check_numbering<Transport>(10);
}
