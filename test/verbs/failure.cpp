// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
#include <laws/transport_cases.hpp>
#include <support/process_ranks.hpp>
#include <support/rdma_device.hpp>
#include <tutti/verbs/verbs.hpp>

namespace {

using tutti::verbs;
using namespace tutti::laws;
using world = tutti::laws::world<verbs, tutti::support::process_ranks>;

/// A world whose connections exist before the test, and which retries for longer.
struct connected_world {
  using transport = verbs;

  template <class F>
  static std::vector<verdict> run(tutti::rank_type n, F const& f) {
    tutti::verbs_options patient;
    patient.timeout = 20;
    return world_with_connections<verbs, tutti::support::process_ranks>::run(n, f, patient);
  }
};

struct amounts : amounts_of_laws {
  static constexpr std::array<tutti::rank_type, 3> ranks_of_faults{2, 3, 5};
  static constexpr int quiescences = 10;
  static constexpr std::array dead{death_amount{2, 1}, death_amount{3, 0}, death_amount{5, 4}};
};
using test_cases = transport_cases<world, amounts, connected_world>;

support::cases const failing = test_cases::failing();
support::cases const dying = test_cases::dying();

/// All survivors name the killed rank within a second, though the retries would take half a minute: while ranks send,
/// while they wait for messages, connected or not.
template <class World>
void deaths_are_noticed_soon() {
  constexpr tutti::rank_type victim = 1;
  for (bool const sending : {true, false}) {
    std::vector<verdict> const verdicts = World::run(3, [&](verbs& t, auto& meet) -> verdict {
      tutti::flow const s{0, 0};
      std::byte const content{};
      t.begin(s, a_call(0));
      meet.exchange("");
      if (t.rank() == victim) {
        ::kill(::getpid(), SIGKILL);
      }
      tutti::time_point const begin = t.now();
      std::ignore = tutti::support::drive_until(t, [&] {
        for (tutti::rank_type const peer : {victim, 2 - t.rank()}) {
          if (sending) {
            std::ignore = t.send(peer, s, {&content, 1}, 1);
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
/// Stops a rank for longer than all retries take.
BOOST_AUTO_TEST_CASE(long_stops) {
  check_all(world::run(2, [&](verbs& t, auto& meet) -> verdict {
    tutti::flow const s{0, 0};
    std::byte const content{};
    t.begin(s, a_call(0));
    auto const process = static_cast<pid_t>(std::stol(meet.exchange(std::to_string(::getpid()))[1]));
    auto const send = [&] { return t.send(1 - t.rank(), s, {&content, 1}, 1).is_accepted; };
    auto const receive = [&] { return static_cast<bool>(t.view(1 - t.rank(), s, {1, 1, nullptr})); };
    if (t.rank() == 1) {
      verdict const bad = tutti::support::drive_until(t, receive);
      return !bad.empty() ? bad : tutti::support::drive_until(t, send);
    }
    ::kill(process, SIGSTOP);
    tutti::time_point const begin = t.now();
    verdict bad = tutti::support::drive_until(t, [&] { return t.now() - begin > std::chrono::seconds(4); });
    ::kill(process, SIGCONT);
    bad = !bad.empty() ? bad : tutti::support::drive_until(t, send);
    return !bad.empty() ? bad : tutti::support::drive_until(t, receive);
  }));
}
}  // namespace
