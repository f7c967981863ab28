// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/engine/wait.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>

namespace {

/// A rank of a world in which nothing happens.
tutti::detail::rank_state quiet_world() {
  static constexpr tutti::detail::transport_calls quiet{
      .name = "quiet", .fault = [](void*) { return tutti::fault{}; }, .poll = [](void*) {}};
  return {tutti::detail::any_transport(nullptr, quiet), {}, 0, {}, {tutti::detail::introduction("quiet", "")}};
}

/// Something that ends after some time, and moves meanwhile or does not.
struct thing {
  tutti::duration time;
  bool moves;
  tutti::time_point begin = tutti::steady_now();
  tutti::time_point last = begin;
  bool asked_in_time = true;  // after a pause that was the system's, the spin has had no say
  std::uint64_t moved = 0;

  bool advance() {
    tutti::time_point const now = tutti::steady_now();
    asked_in_time = asked_in_time && now - last < tutti::detail::longest_spin / 2;
    last = now;
    moved += moves ? 1U : 0U;
    return now - begin >= time;
  }
};

/// Whether a wait for such a thing ends awake. Other programs on the core may spoil one, so there are several.
bool awake_after(tutti::duration time, bool moves, tutti::duration limit) {
  for (int tries = 0; tries < 200; ++tries) {
    tutti::detail::rank_state world = quiet_world();
    thing one{.time = time, .moves = moves};
    tutti::detail::wait_target const what{.of = &one,
                                          .advance = [](void* p) { return static_cast<thing*>(p)->advance(); },
                                          .inquire = [](void*) {},
                                          .progress = [](void* p) { return static_cast<thing*>(p)->moved; }};
    if (tutti::detail::wait_spinning(world, what, limit) && one.asked_in_time) {
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

}  // namespace
