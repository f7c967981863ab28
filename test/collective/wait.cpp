// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/engine/wait.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>

namespace {

/// A world in which nothing happens.
struct quiet_world {
  struct transport_type {
    [[nodiscard]] bool fault() const { return false; }
  };
  void poll() {}
  [[nodiscard]] transport_type transport() const { return {}; }
};

/// Whether a wait of this length, for something that moves meanwhile or does not, ends awake. Other programs on the
/// core may spoil one, so there are several.
bool awake_after(tutti::duration time, bool moves, tutti::duration limit) {
  for (int tries = 0; tries < 200; ++tries) {
    quiet_world world;
    std::uint64_t moved = 0;
    tutti::time_point const begin = tutti::steady_now();
    bool asked_in_time = true;  // after a pause that was the system's, the spin has had no say
    tutti::time_point last = begin;
    auto advance = [&] {
      tutti::time_point const now = tutti::steady_now();
      asked_in_time = asked_in_time && now - last < tutti::detail::longest_spin / 2;
      last = now;
      moved += moves ? 1U : 0U;
      return now - begin >= time;
    };
    auto progress = [&] { return moved; };
    if (tutti::detail::wait_spinning(world, advance, progress, limit) && asked_in_time) {
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
