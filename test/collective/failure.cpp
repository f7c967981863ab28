// SPDX-License-Identifier: Apache-2.0
// test: address thread
//
// Faults, over each transport: ranks that leave, are killed, or give an operation up.
#include <laws/failure.hpp>
#include <support/hosts_too.hpp>
#include <tutti/topology/double_tree.hpp>

namespace {

using tutti::binary_tree;
using tutti::ring;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_that_leaves, Transport, support::transports_and_hosts) {
  laws::a_rank_that_leaves_is_named<Transport>(ring{}, 4, 2, 1);
  laws::a_rank_that_leaves_is_named<Transport>(ring{}, 4, 0, 100'000);
  laws::a_rank_that_leaves_is_named<Transport>(ring{}, 4, 0, 300'000);
  laws::a_rank_that_leaves_is_named<Transport>(binary_tree{}, 5, 4, 1000);
  laws::a_rank_that_leaves_is_named<Transport>(tutti::doubling{}, 3, 1, 100'000);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_dropped_request, Transport, support::transports_and_hosts) {
  laws::a_dropped_request_is_named<Transport>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_failed_epoch, Transport, support::transports_and_hosts) {
  laws::a_failed_epoch_stays_failed<Transport>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_fault_elsewhere, Transport, support::transports_and_hosts) {
  laws::a_fault_elsewhere_is_the_reason_to_leave<Transport>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_killed_process, Transport, support::transports_of_processes) {
  laws::a_killed_process_is_named<Transport>(ring{}, 4, 2, 300'000);
  laws::a_killed_process_is_named<Transport>(binary_tree{}, 4, 0, 100);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_that_leaves_a_host, Transport, support::only_hosts) {
  tutti::hierarchical const by_hosts{binary_tree{}, ring{}, 2};  // one rank of a host communicates with other hosts
  laws::a_rank_that_leaves_is_named<Transport>(ring{}, 4, 2, 1);
  laws::a_rank_that_leaves_is_named<Transport>(ring{}, 5, 0, 100'000);
  laws::a_rank_that_leaves_is_named<Transport>(by_hosts, 6, 2, 1000);
  laws::a_rank_that_leaves_is_named<Transport>(by_hosts, 6, 3, 100'000);
  tutti::support::hosts_of<Transport> const uneven(3);
  laws::a_rank_that_leaves_is_named<Transport>(tutti::double_tree{}, 5, 4, 1000);
}

// Neighbours detect a killed process through shared memory, other ranks through a closed connection or from a
// neighbour. Victims: a rank that communicates for its host, one that does not, one alone on its host.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_process_that_is_killed_on_a_host, Transport, support::only_hosts) {
  tutti::hierarchical const by_hosts{binary_tree{}, ring{}, 2};  // one rank of a host communicates with other hosts
  laws::a_killed_process_is_named<Transport>(ring{}, 4, 2, 300'000);
  laws::a_killed_process_is_named<Transport>(by_hosts, 6, 2, 300'000);
  laws::a_killed_process_is_named<Transport>(by_hosts, 6, 5, 100);
  laws::a_killed_process_is_named<Transport>(by_hosts, 5, 4, 100'000);
  tutti::support::hosts_of<Transport> const uneven(3);
  laws::a_killed_process_is_named<Transport>(binary_tree{}, 7, 1, 100);
}

}  // namespace
