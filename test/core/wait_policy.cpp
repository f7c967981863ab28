// SPDX-License-Identifier: Apache-2.0
// test: address optimised
#include <tutti/detail/core/wait_policy.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <stdexcept>

namespace {

using namespace std::chrono_literals;
using tutti::duration;
using tutti::time_point;
using tutti::detail::backoff;
using tutti::detail::wait_policy;

/// A rank that waits repeatedly, in simulated time, on a core where a yield lasts as long as other programs want.
class rank {
 public:
  /// Waits until `end`. If `others_compute`, every `interval`-th yield lasts `slice`.
  void wait_until(time_point end, bool others_compute, int interval = 1, duration slice = 4ms) {
    for (int i = 0; now < end; ++i) {
      if (!policy.yields([&] { return now; })) {
        sleep_time += sleep_length;
        now += sleep_length;
        continue;
      }
      duration const time = others_compute && i % interval == 0 ? slice : 1us;
      now += time;
      yield_time += time;
      policy.count_yield(time, now);
      policy.count_avoided_wake_up();
    }
  }

  static constexpr duration sleep_length = 50us;
  wait_policy policy;
  time_point now = 1h;
  duration sleep_time{};  ///< total time of waits that slept
  duration yield_time{};  ///< total time of yields
};

time_point unused_clock() {
  throw std::logic_error("no attempt failed, and yet the clock was read");
}

BOOST_AUTO_TEST_CASE(a_wait_that_has_lost_nothing_asks_no_clock) {
  wait_policy policy;
  for (int i = 0; i < 10000; ++i) {
    BOOST_REQUIRE((policy.spins(unused_clock) && policy.yields(unused_clock)));
    BOOST_REQUIRE(!policy.count_yield(wait_policy::longest_turn, i * 1ms));
    policy.count_avoided_wake_up();
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_shares_a_core_with_one_that_computes_hardly_ever_yields) {
  rank r;
  r.wait_until(r.now + 60s, true);
  BOOST_TEST((r.yield_time / 1ms) < 600);
}

BOOST_AUTO_TEST_CASE(some_time_slices_now_and_then_are_cheaper_than_sleeping) {
  rank r;
  r.wait_until(r.now + 60s, true, 100);  // 4 ms are lost, and 100 wake-ups are 5 ms
  BOOST_TEST(r.sleep_time.count() == 0);
}
BOOST_AUTO_TEST_CASE(too_many_are_not) {
  rank r;
  r.wait_until(r.now + 60s, true, 20);
  BOOST_TEST((r.sleep_time / 1ms) > 59000);
}

BOOST_AUTO_TEST_CASE(it_sleeps_on_for_hardly_longer_than_others_have_computed) {
  for (duration const load : {8ms, 20ms, 100ms, 500ms, 2000ms}) {
    rank r;
    time_point const load_end = r.now + load;
    r.wait_until(load_end, true);
    r.sleep_time = {};
    r.wait_until(load_end + 10s, false);
    BOOST_TEST_CONTEXT("others had computed for " << load / 1ms << " ms") {
      BOOST_TEST((r.sleep_time / 1ms) <= (std::min<duration>(load + 40ms, 1000ms) / 1ms));
    }
  }
}

BOOST_AUTO_TEST_CASE(spins_in_vain_take_a_tenth_of_the_time_at_most) {
  wait_policy policy;
  time_point now = 1h;
  duration spin_time{};
  while (now < 1h + 1s) {
    if (policy.spins([&] { return now; })) {
      now += 100us;
      spin_time += 100us;
      policy.suppress_spins(now);
    }
    now += 3us;
  }
  BOOST_TEST((spin_time / 1us) > 5000);  // it spun now and then
  BOOST_TEST((spin_time / 1us) < 20000);
}

BOOST_AUTO_TEST_CASE(what_is_in_vain_at_once_waits_twice_as_long_and_what_is_not_begins_anew) {
  backoff b(10ms, 40ms);
  time_point now{};
  auto const clock = [&] { return now; };
  auto const lasts_for = [&](duration d) {
    b.begin(now);
    now += d - 1ns;
    bool const was_active = b.is_active(clock);
    now += 1ns;
    return was_active && !b.is_active(clock) && b.is_active(unused_clock) == false;
  };
  BOOST_TEST(!b.is_active(unused_clock));
  BOOST_TEST(lasts_for(10ms));
  BOOST_TEST(lasts_for(20ms));
  BOOST_TEST(lasts_for(40ms));
  BOOST_TEST(lasts_for(40ms));
  now += 39ms;
  BOOST_TEST(lasts_for(40ms));
  now += 40ms;
  BOOST_TEST(lasts_for(10ms));
}

}  // namespace
