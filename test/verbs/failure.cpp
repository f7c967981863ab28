// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
#include <laws/transport_failure.hpp>
#include <support/process_ranks.hpp>
#include <support/rdma_device.hpp>
#include <tutti/verbs/verbs.hpp>

namespace {

using tutti::verbs;
using world = tutti::laws::world<verbs, tutti::support::process_ranks>;
using namespace tutti::laws;

/// A world whose edges there are already: a law may then take it for granted that a short message is accepted at once.
struct connected_world {
  using transport = verbs;

  template <class F>
  static std::vector<verdict> run(tutti::rank_type n, F const& f) {
    return tutti::support::process_ranks::run(n, [&](auto& meet) -> verdict {
      tutti::verbs_options patient;
      patient.timeout = 20;
      verbs t(meet, patient);
      verdict const bad = tutti::support::run(t, {all_to_all_messages(t.rank(), n, {7, 0}, {{0, 1}})});
      return bad.empty() ? f(t, meet) : bad;
    });
  }
};

BOOST_AUTO_TEST_CASE(faults) {
  for (tutti::rank_type const n : {2U, 3U, 5U}) {
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
  for (std::size_t const bytes : {8UL, 8000UL, 80'000UL}) {
    a_departed_reader_is_missed<world>(bytes);
  }
}
BOOST_AUTO_TEST_CASE(deaths) {
  a_dead_process_is_found<world>(2, 1);
  a_dead_process_is_found<world>(3, 0);
  a_dead_process_is_found<world>(5, 4);
}
/// Whether ranks send to each other, or wait for messages that do not come, and whether they have met before: the
/// killed one is named by all others within a second, though the retries would take half a minute.
template <class World>
void deaths_are_noticed_soon() {
  constexpr tutti::rank_type victim = 1;
  for (bool const sending : {true, false}) {
    std::vector<verdict> const verdicts = World::run(3, [&](verbs& t, auto& meet) -> verdict {
      tutti::flow const s{0, 0};
      std::byte const one{};
      t.begin(s, a_call(0));
      meet.exchange("");
      if (t.rank() == victim) {
        ::kill(::getpid(), SIGKILL);
      }
      tutti::time_point const begin = t.now();
      std::ignore = tutti::support::until(t, [&] {
        for (tutti::rank_type const peer : {victim, 2 - t.rank()}) {
          if (sending) {
            std::ignore = t.send(peer, s, {&one, 1}, 1);
          }
          if (peer != victim && t.view(peer, s, {1, 1, nullptr})) {
            t.release(peer, s);
          }
        }
        return false;
      });
      tutti::duration const took = t.now() - begin;
      verdict const wrong = expect(t.fault(), tutti::failure::peer_lost, victim);
      return wrong.empty() && took > std::chrono::seconds(1) ? "it took " + std::to_string(took.count()) + " ns"
                                                             : wrong;
    });
    for (tutti::rank_type const r : {0U, 2U}) {
      BOOST_TEST(verdicts[r] == "", "rank " << r << ": " << verdicts[r]);
    }
  }
}
BOOST_AUTO_TEST_CASE(deaths_of_ranks_without_an_edge_and_of_peers) {
  deaths_are_noticed_soon<world>();
  deaths_are_noticed_soon<connected_world>();
}
BOOST_AUTO_TEST_CASE(helpers) {
  a_helper_does_not_hide_a_death<world>(3, 1, ::fork);
  a_forked_child_takes_no_part<world>();
}
/// For longer than all retries would take.
BOOST_AUTO_TEST_CASE(stops) {
  a_stopped_process_is_waited_for<world>();
  check_all(world::run(2, [&](verbs& t, auto& meet) -> verdict {
    tutti::flow const s{0, 0};
    std::byte const one{};
    t.begin(s, a_call(0));
    auto const process = static_cast<pid_t>(std::stol(meet.exchange(std::to_string(::getpid()))[1]));
    auto const send = [&] { return t.send(1 - t.rank(), s, {&one, 1}, 1).accepted; };
    auto const receive = [&] { return static_cast<bool>(t.view(1 - t.rank(), s, {1, 1, nullptr})); };
    if (t.rank() == 1) {
      verdict const bad = tutti::support::until(t, receive);
      return !bad.empty() ? bad : tutti::support::until(t, send);
    }
    ::kill(process, SIGSTOP);
    tutti::time_point const begin = t.now();
    verdict bad = tutti::support::until(t, [&] { return t.now() - begin > std::chrono::seconds(4); });
    ::kill(process, SIGCONT);
    bad = !bad.empty() ? bad : tutti::support::until(t, send);
    return !bad.empty() ? bad : tutti::support::until(t, receive);
  }));
}
BOOST_AUTO_TEST_CASE(destruction) {
  destruction_with_work_in_flight_is_clean<world>(2, 10'000);
  destruction_with_work_in_flight_is_clean<world>(2, 100'000);
  destruction_with_work_in_flight_is_clean<world>(5, 100);
}
BOOST_AUTO_TEST_CASE(quiescence) {
  quiesce_waits_for_readers_and_writers<world>(10);
}

}  // namespace
