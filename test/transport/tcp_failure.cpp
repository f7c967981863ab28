// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/transport_failure.hpp>
#include <laws/transport_sleep.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/transport/tcp.hpp>

namespace {

using tutti::tcp;
using world = tutti::laws::world<tcp, tutti::support::thread_ranks>;
using namespace tutti::laws;

/// A world whose ranks are connected already: a law may then take it for granted that a short message
/// is accepted at once, which over a connection that is only being made it is not.
struct connected_world {
  using transport = tcp;

  template <class F>
  static std::vector<verdict> run(tutti::rank_type n, F const& f) {
    return tutti::support::thread_ranks::run(n, [&](auto& meet) -> verdict {
      tcp t(meet);
      verdict const bad = tutti::support::run(t, {all_to_all_messages(t.rank(), n, {7, 0}, {{0, 1}})});
      return bad.empty() ? f(t, meet) : bad;
    });
  }
};

BOOST_AUTO_TEST_CASE(faults) {
  for (tutti::rank_type const n : {2U, 3U, 17U}) {
    faults_are_known_to_all<connected_world>(n);
    the_first_fault_wins<world>(n, false);
  }
}
BOOST_AUTO_TEST_CASE(mismatches) {
  mismatches_are_named<world>(2);
  mismatches_are_named<world>(5);
  lost_count_is_a_mismatch<world>();
}
BOOST_AUTO_TEST_CASE(departures) {
  a_departed_peer_is_missed_when_it_is_needed<world>();
  a_departed_reader_is_missed<world>(8);
  a_departed_reader_is_missed<world>(300'000);
}
BOOST_AUTO_TEST_CASE(destruction) {
  destruction_with_work_in_flight_is_clean<world>(2, 10'000);
  destruction_with_work_in_flight_is_clean<world>(2, 300'000);
  destruction_with_work_in_flight_is_clean<world>(5, 100);
}
BOOST_AUTO_TEST_CASE(quiescence) {
  quiesce_waits_for_readers_and_writers<world>(50);
}
BOOST_AUTO_TEST_CASE(sleep) {
  sleepers_are_woken<world>(2, 2000, 4);
  sleepers_are_woken<world>(3, 500, 1000);
  sleepers_are_woken<world>(3, 50, 300'000);
  sleepers_learn_of_faults<world>(2);
  sleepers_learn_of_faults<world>(9);
}

}  // namespace
