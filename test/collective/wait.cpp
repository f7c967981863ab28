// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/detail/core/deadline.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <stdexcept>

namespace {

/// A rank of an idle world.
tutti::detail::rank_state quiet_world() {
  static constexpr tutti::detail::transport_calls quiet{
      .name = "quiet", .fault = [](void*) { return tutti::fault{}; }, .poll = [](void*) {}};
  return {tutti::detail::any_transport(nullptr, quiet), {}, 0, {}, {tutti::detail::introduction("quiet", "")}};
}

/// A wait target that completes after `time`, and reports progress until then if `moves`.
struct thing {
  tutti::duration time;
  bool moves;
  tutti::time_point begin = tutti::steady_now();
  tutti::time_point last = begin;
  bool is_in_time = true;  // false after a pause by the system, as the attempt then shows nothing about spinning
  std::uint64_t progress = 0;

  bool advance() {
    tutti::time_point const now = tutti::steady_now();
    is_in_time = is_in_time && now - last < tutti::detail::longest_spin / 2;
    last = now;
    progress += moves ? 1U : 0U;
    return now - begin >= time;
  }
};

/// True if a wait for such a target ends while spinning. Tries several times, as other programs on the core may
/// interfere.
bool awake_after(tutti::duration time, bool moves, tutti::duration limit) {
  for (int tries = 0; tries < 200; ++tries) {
    tutti::detail::rank_state world = quiet_world();
    thing subject{.time = time, .moves = moves};
    tutti::detail::wait_target const target{.object = &subject,
                                            .advance = [](void* p) { return static_cast<thing*>(p)->advance(); },
                                            .detect_mismatch = [](void*) {},
                                            .progress = [](void* p) { return static_cast<thing*>(p)->progress; }};
    if (tutti::detail::wait_spinning(world, target, limit) && subject.is_in_time) {
      return true;
    }
  }
  return false;
}

BOOST_AUTO_TEST_CASE(what_moves_is_waited_for_awake) {
  constexpr auto none = tutti::no_deadline;
  constexpr auto soon = tutti::detail::longest_spin / 2;
  constexpr auto late = tutti::detail::longest_spin * 3;
  BOOST_TEST(awake_after(soon, false, none));
  BOOST_TEST(awake_after(late, true, none));
  BOOST_TEST(!awake_after(late, false, none));
}

BOOST_AUTO_TEST_CASE(but_not_beyond_the_limit_or_the_next_look_for_dead_peers) {
  BOOST_TEST(!awake_after(tutti::detail::longest_spin * 4, true, tutti::detail::longest_spin * 2));
  BOOST_TEST(!awake_after(tutti::detail::between_looks * 2, true, tutti::no_deadline));
}

/// A message from a peer that runs once this rank sleeps; it arrives `later` after that.
struct message_of_sleep {
  static inline tutti::time_point slept{};
  tutti::duration later{};

  bool advance() const { return slept != tutti::time_point{} && tutti::steady_now() - slept >= later; }
};

/// True if, within `waits` waits, a rank that may not yield stops spinning for messages that arrive `later` after it
/// sleeps.
bool learns_from_sleep(tutti::duration later, int waits) {
  static constexpr tutti::detail::transport_calls sleeper{.name = "sleeper",
                                                          .now = [](void const*) { return tutti::steady_now(); },
                                                          .fault = [](void*) { return tutti::fault{}; },
                                                          .poll = [](void*) {},
                                                          .probe = [](void*) {},
                                                          .arm =
                                                              [](void*) {
                                                                message_of_sleep::slept = tutti::steady_now();
                                                                return -1;
                                                              },
                                                          .disarm = [](void*) {}};
  tutti::detail::rank_state world{
      tutti::detail::any_transport(nullptr, sleeper), {}, 0, {}, {tutti::detail::introduction("sleeper", "")}};
  world.is_oversubscribed = false;
  for (int i = 0; i < waits; ++i) {
    for (int yield = 0; yield < 10; ++yield) {
      world.wait_policy.count_yield(std::chrono::seconds(1),
                                    tutti::steady_now());  // another program computes on this core
    }
    message_of_sleep::slept = {};
    message_of_sleep message{.later = later};
    tutti::detail::wait_target const target{
        .object = &message,
        .advance = [](void* p) { return static_cast<message_of_sleep*>(p)->advance(); },
        .detect_mismatch = [](void*) {},
        .progress = [](void*) -> std::uint64_t { return 0; }};
    if (tutti::detail::wait(world, target, tutti::no_deadline) != tutti::detail::wait_outcome::complete) {
      throw std::logic_error("the wait did not end as it should");
    }
    if (!world.wait_policy.spins(tutti::steady_now)) {
      return true;
    }
  }
  return false;
}

BOOST_AUTO_TEST_CASE(a_short_sleep_after_a_useless_spin_tells_that_the_peer_is_on_this_core) {
  BOOST_TEST(learns_from_sleep(tutti::duration::zero(), 200));
  BOOST_TEST(!learns_from_sleep(tutti::detail::longest_spin * 2, 20));
}

}  // namespace
