// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#define BOOST_TEST_MODULE collective_by_locality_failure
#include <laws/failure_cases.hpp>
#include <support/emulated_hosts.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

namespace {

using mixed = tutti::support::emulated_hosts<tutti::shared_memory, tutti::tcp, 2>;
using uneven = tutti::support::emulated_hosts<tutti::shared_memory, tutti::tcp, 3>;

/// As hosts of two, of which one rank speaks to other hosts.
tutti::hierarchical<tutti::binary_tree, tutti::ring> by_hosts() {
  return {tutti::binary_tree{}, tutti::ring{}, 2};
}

support::cases const test_cases = laws::failures<mixed>::all();

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_a_host) {
  laws::a_rank_that_leaves_is_named<mixed>(tutti::ring{}, 4, 2, 1);
  laws::a_rank_that_leaves_is_named<mixed>(tutti::ring{}, 5, 0, 100'000);
  laws::a_rank_that_leaves_is_named<uneven>(tutti::double_tree{}, 5, 4, 1000);
  laws::a_rank_that_leaves_is_named<mixed>(by_hosts(), 6, 2, 1000);
  laws::a_rank_that_leaves_is_named<mixed>(by_hosts(), 6, 3, 100'000);
}

// Found by its neighbours through the memory that they share, by others through the connection that closes,
// or through whoever found it: a rank that speaks for its host, one that does not, one that is alone on it.
BOOST_AUTO_TEST_CASE(a_killed_process) {
  laws::a_killed_process_is_named<mixed>(tutti::ring{}, 4, 2, 300'000);
  laws::a_killed_process_is_named<mixed>(by_hosts(), 6, 2, 300'000);
  laws::a_killed_process_is_named<mixed>(by_hosts(), 6, 5, 100);
  laws::a_killed_process_is_named<mixed>(by_hosts(), 5, 4, 100'000);
  laws::a_killed_process_is_named<uneven>(tutti::binary_tree{}, 7, 1, 100);
}

}  // namespace
