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

/// A wait target that completes after `time`, and reports progress until then if `makes_progress`.
struct thing {
  tutti::duration time;
  bool makes_progress;
  tutti::time_point begin = tutti::steady_now();
  tutti::time_point last = begin;
  bool is_in_time = true;  // false after a pause by the system, as the attempt then shows nothing about spinning
  std::uint64_t progress = 0;

  bool advance() {
    tutti::time_point const now = tutti::steady_now();
    is_in_time = is_in_time && now - last < tutti::detail::longest_spin / 2;
    last = now;
    progress += makes_progress ? 1U : 0U;
    return now - begin >= time;
  }
};

/// True if a wait for such a target ends while spinning. Tries several times, as other programs on the core may
/// interfere.
bool ends_awake(tutti::duration time, bool makes_progress, tutti::duration limit) {
  for (int tries = 0; tries < 200; ++tries) {
    tutti::detail::rank_state world = quiet_world();
    thing subject{.time = time, .makes_progress = makes_progress};
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
  constexpr auto short_time = tutti::detail::longest_spin / 2;
  constexpr auto long_time = tutti::detail::longest_spin * 3;
  BOOST_TEST(ends_awake(short_time, false, none));
  BOOST_TEST(ends_awake(long_time, true, none));
  BOOST_TEST(!ends_awake(long_time, false, none));
}

BOOST_AUTO_TEST_CASE(but_not_beyond_the_limit_or_the_next_look_for_dead_peers) {
  BOOST_TEST(!ends_awake(tutti::detail::longest_spin * 4, true, tutti::detail::longest_spin * 2));
  BOOST_TEST(!ends_awake(tutti::detail::between_looks * 2, true, tutti::no_deadline));
}

/// A message from a peer that runs once this rank sleeps; it arrives `delay` after that.
struct message_of_sleep {
  static inline tutti::time_point slept{};
  tutti::duration delay{};

  bool advance() const { return slept != tutti::time_point{} && tutti::steady_now() - slept >= delay; }
};

/// True if, within `waits` waits, a rank that may not yield stops spinning for messages that arrive `delay` after it
/// sleeps.
bool learns_from_sleep(tutti::duration delay, int waits) {
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
    message_of_sleep message{.delay = delay};
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
