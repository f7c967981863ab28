// SPDX-License-Identifier: Apache-2.0
// test: address thread waits
#include <laws/shrink.hpp>
#include <support/secret_meeting.hpp>
#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <tuple>

using all_transports = std::tuple<tutti::loopback, tutti::shared_memory, tutti::tcp>;
using of_threads = std::tuple<tutti::loopback, tutti::tcp>;
using of_processes = std::tuple<tutti::shared_memory, tutti::tcp>;

BOOST_AUTO_TEST_CASE_TEMPLATE(those_that_are_left_go_on, Transport, all_transports) {
  laws::those_that_are_left_go_on<Transport>(4, {{1}});
  laws::those_that_are_left_go_on<Transport>(8, {{1, 4, 6}});
  laws::those_that_are_left_go_on<Transport>(4, {{0, 1, 3}});
  laws::those_that_are_left_go_on<Transport>(2, {{0}});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(one_fault_after_the_other, Transport, all_transports) {
  laws::those_that_are_left_go_on<Transport>(5, {{0}, {1, 3}, {2}});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(those_that_are_left_agree, Transport, all_transports) {
  laws::those_that_are_left_agree<Transport>(4, {1});
  laws::those_that_are_left_agree<Transport>(5, {0, 3});
  laws::those_that_are_left_agree<Transport>(2, {0});
}

BOOST_AUTO_TEST_CASE(different_calls_are_told_apart) {
  laws::different_calls_are_told_apart<tutti::loopback>(3);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_host_that_dies_is_followed_by_the_next, Transport, of_processes) {
  laws::a_host_that_dies_is_followed_by_the_next<Transport>(5);
}

BOOST_AUTO_TEST_CASE(patience_may_be_without_end_but_not_negative) {
  laws::those_that_are_left_go_on<tutti::loopback>(4, {{1}}, tutti::no_deadline);
  auto const ends = tutti::spawn<tutti::loopback>(1, [](auto& world) {
    try {
      tutti::failure_detector(world, -tutti::duration(1));
    } catch (tutti::precondition_error const&) {
      return true;
    }
    return false;
  });
  BOOST_TEST(ends[0].value(), "it is refused");
}

BOOST_AUTO_TEST_CASE(ranks_that_are_late_are_left_out) {
  laws::ranks_that_are_late_are_left_out<tutti::loopback>(5, {2}, false);
  laws::ranks_that_are_late_are_left_out<tutti::loopback>(5, {0}, false);
  laws::ranks_that_are_late_are_left_out<tutti::loopback>(5, {2}, true);
  laws::ranks_that_are_late_are_left_out<tutti::loopback>(6, {0, 3}, true);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_stopped_rank_that_wakes_when_the_others_have_ended_ends, Transport, of_processes) {
  laws::a_stopped_rank_that_wakes_when_the_others_have_ended_ends<Transport>(4);
}

/// The ranks of a world with a secret find each other after a fault, and the smaller world has the secret, too.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_world_with_a_secret_shrinks_and_keeps_it, Transport, of_threads) {
  auto const results = tutti::detail::run_threads(4, [](tutti::detail::thread_rendezvous& seat) -> std::string {
    support::secret_meeting meet{&seat};
    tutti::communicator<Transport> world(meet);
    tutti::rank_type const me = world.rank();
    world.deadline(std::chrono::seconds(40));
    tutti::failure_detector detector(world);
    std::string wrong = laws::sum_until_a_fault(world, detector.members(), me, [&] {
      if (me == 0) {
        throw std::runtime_error("died");
      }
    });
    auto smaller = detector.shrink();
    wrong += laws::sum_until_a_fault(smaller, detector.members(), me, [] {});
    auto const secret = tutti::group_rendezvous(smaller, {smaller.rank()}, 0).secret();
    bool const is_same = secret && std::ranges::equal(secret.key(), meet.secret().key());
    return is_same && smaller.size() == 3 ? wrong : "the smaller world has another secret, or size";
  });
  for (std::size_t const r : {1U, 2U, 3U}) {
    BOOST_TEST((results[r] ? results[r].value() : results[r].failure().text) == "no fault");
  }
}
