// SPDX-License-Identifier: Apache-2.0
// test: address thread waits
//
// Ranks named by a passed deadline, over each transport: late ranks, ranks that wait for each other, stopped ranks.
#include <laws/late.hpp>
#include <support/hosts_too.hpp>
#include <tutti/detail/communicator/straggler_search.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/chain.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/star.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using tutti::binary_tree;
using tutti::ring;

// Any path from the late rank to the others.
BOOST_AUTO_TEST_CASE_TEMPLATE(late_ranks, Transport, support::transports_and_hosts) {
  BOOST_TEST(laws::a_late_rank<Transport>(tutti::doubling{}, 3, 1, 1) == "");
  BOOST_TEST(laws::a_late_rank<Transport>(ring{}, 8, 5, 1000) == "");
  BOOST_TEST(laws::a_late_rank<Transport>(binary_tree{}, 7, 6, 100'000) == "");
  BOOST_TEST(laws::a_late_rank<Transport>(tutti::star{}, 5, 0, 1000) == "");
  BOOST_TEST(laws::a_late_rank<Transport>(tutti::chain{}, 6, 3, 1000) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(turns, Transport, support::transports_and_hosts) {
  BOOST_TEST(laws::a_turn_behind_a_late_rank<Transport>(ring{}, 2, 1) == "");
  BOOST_TEST(laws::a_turn_behind_a_late_rank<Transport>(binary_tree{}, 4, 2) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_circle, Transport, support::transports_and_hosts) {
  BOOST_TEST(laws::ranks_that_wait_for_each_other<Transport>(4, 2) == "");
  BOOST_TEST(laws::ranks_that_wait_for_each_other<Transport>(3, 3) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(stopped_processes, Transport, support::transports_of_processes) {
  BOOST_TEST(laws::a_stopped_rank<Transport>(ring{}, 5, 3, 1000, {}) == "");
  BOOST_TEST(laws::a_stopped_rank<Transport>(tutti::butterfly{}, 4, 0, 30'000, {}) == "");
  BOOST_TEST(laws::a_stopped_rank<Transport>(tutti::double_tree{}, 8, 6, 1, {}) == "");
}

// A process may be stopped while it reads a peer's memory.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_stopped_reader, Transport, support::only_shared_memory) {
  BOOST_TEST(laws::a_rank_stopped_while_it_reads<Transport>(2, 1) == "");
  BOOST_TEST(laws::a_rank_stopped_while_it_reads<Transport>(4, 2) == "");
}

}  // namespace
