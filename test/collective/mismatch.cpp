// SPDX-License-Identifier: Apache-2.0
// test: address thread
//
// Calls that differ between the ranks, over each transport.
#include <laws/failure.hpp>
#include <support/hosts_too.hpp>

namespace {

BOOST_AUTO_TEST_CASE_TEMPLATE(different_calls, Transport, support::transports_and_hosts) {
  laws::every_difference_is_found<Transport>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(different_groupings, Transport, support::transports_and_hosts) {
  laws::a_different_grouping_is_found<Transport>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(different_choices, Transport, support::transports_and_hosts) {
  laws::a_different_choice_is_found<Transport>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(different_roots, Transport, support::transports_and_hosts) {
  laws::a_different_root_is_found<Transport>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(different_partitions, Transport, support::transports_and_hosts) {
  laws::a_different_partition_is_found<Transport>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(different_lengths_of_pairs, Transport, support::transports_and_hosts) {
  laws::a_different_length_of_a_pair_is_found<Transport>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(different_messages, Transport, support::transports_and_hosts) {
  laws::a_different_message_is_found<Transport>();
}

}  // namespace
