// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/shared_memory/copy_strategy.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <random>

/// A rank copies in the cheaper way, even if the machine changes from one moment to the next.
namespace {

using tutti::duration;
using tutti::detail::copy_strategy;
using path = copy_strategy::path;

/// Sizes of a ring and of the copies to it, as transports use them.
struct shape {
  std::size_t ring;
  std::size_t bytes;
  [[nodiscard]] unsigned lap() const { return static_cast<unsigned>(ring / bytes); }
};
constexpr shape usual{std::size_t{2} << 20, 65536};
constexpr std::array shapes{shape{usual.ring, 4096}, shape{usual.ring, 16384}, usual,
                            shape{usual.ring / 2, 2 * usual.bytes}};

/// Times of copies of 64 KiB on a machine, by number, as no two are alike.
struct machine {
  duration (*through_caches)(unsigned copy);
  duration (*past_caches)(unsigned copy);
};

/// True for one number in `count`, at random.
constexpr auto one_in = [](unsigned count, unsigned copy) {
  return std::minstd_rand(copy * 2654435761U + 1U)() % count == 0;
};

/// Measured times: docs/guide/performance.md. Some copies are interrupted.
constexpr duration interruption{4'000'000};
constexpr machine one_cache{[](unsigned k) { return k % 25 == 0 ? interruption : duration(1400 + k % 7 * 600); },
                            [](unsigned k) { return k % 40 == 0 ? interruption : duration(2000 + k % 5 * 500); }};
constexpr machine a_cache_each{
    // The peer's cache was evicted now and then.
    [](unsigned k) { return one_in(8, k) ? duration(4000) : duration(22'000 + k % 9 * 700); }, one_cache.past_caches};
/// Machines without disturbances.
constexpr machine shared_cache{[](unsigned) { return duration(1600); }, [](unsigned) { return duration(2500); }};
constexpr machine separate_caches{[](unsigned) { return duration(25'000); }, [](unsigned) { return duration(2000); }};
/// A machine whose caches do not hold the ring.
constexpr machine small_caches{[](unsigned k) { return duration(20'000 + k % 7 * 600); }, one_cache.past_caches};
/// A machine on which the ring is touched for the first time.
constexpr machine fresh_ring{[](unsigned k) { return duration(36'000 + k % 7 * 600); },
                             [](unsigned k) { return duration(30'000 + k % 5 * 500); }};

/// A sender that copies as its account decides, always the same number of bytes.
class sender {
 public:
  explicit sender(shape s = usual) : shape_(s), account_(s.ring) {}

  path copy(machine const& m) {
    auto const [choice, is_timed] = account_.next();
    duration const time = (choice == path::past_caches ? m.past_caches : m.through_caches)(copies_++);
    took_ += time;
    if (is_timed) {
      account_.record_time(choice, shape_.bytes, time * static_cast<std::int64_t>(shape_.bytes) / 65536);
    }
    return choice;
  }
  /// Returns the number of copies that go past the caches, of this many.
  unsigned past_caches(machine const& m, unsigned copies) {
    unsigned past = 0;
    for (unsigned k = 0; k < copies; ++k) {
      past += copy(m) == path::past_caches ? 1U : 0U;
    }
    return past;
  }
  /// Returns the number of copies until seven in a row, as many as between two timed ones, use this path.
  unsigned copies_until(path choice, machine const& m) {
    unsigned k = 0;
    for (unsigned so = 0; so < 7 && k < 100'000; ++k) {
      so = copy(m) == choice ? so + 1 : 0;
    }
    return k;
  }
  [[nodiscard]] duration took() const { return took_; }

 private:
  shape shape_;
  copy_strategy account_;
  unsigned copies_ = 0;
  duration took_{};
};

constexpr unsigned run = 100'000;
/// Trials: one in 128, more after a change.
constexpr unsigned seldom = run / 100;
/// Copies of 64 KiB after which the account has followed a change.
constexpr unsigned soon = 320;

BOOST_AUTO_TEST_CASE(stays_in_the_caches_while_they_are_shared) {
  for (shape const& s : shapes) {
    BOOST_TEST(sender(s).past_caches(one_cache, run) <= seldom);
  }
}

BOOST_AUTO_TEST_CASE(goes_past_caches_that_are_not_shared) {
  for (shape const& s : shapes) {
    sender a(s);
    BOOST_TEST(a.copies_until(path::past_caches, a_cache_each) <= std::max(soon, 6 * s.lap()));
    BOOST_TEST(a.past_caches(a_cache_each, run) >= run - seldom);
  }
}

BOOST_AUTO_TEST_CASE(follows_the_machine) {
  sender a;
  for (int change = 0; change < 10; ++change) {
    static_cast<void>(a.past_caches(one_cache, soon));
    BOOST_TEST(a.past_caches(one_cache, run) <= seldom);
    static_cast<void>(a.past_caches(a_cache_each, soon));
    BOOST_TEST(a.past_caches(a_cache_each, run) >= run - seldom);
  }
}

/// The price of memory does not matter, only the ratio of the two paths.
BOOST_AUTO_TEST_CASE(a_slower_machine_is_judged_alike) {
  BOOST_TEST(sender().past_caches({[](unsigned k) { return 30 * one_cache.through_caches(k); },
                                   [](unsigned k) { return 30 * one_cache.past_caches(k); }},
                                  run) <= seldom);
}

BOOST_AUTO_TEST_CASE(the_price_decides) {
  constexpr auto past = [](unsigned) { return duration(2000); };
  BOOST_TEST(sender().past_caches({[](unsigned) { return duration(5900); }, past}, run) <= seldom);
  sender a;
  machine const expensive{[](unsigned) { return duration(6200); }, past};
  static_cast<void>(a.past_caches(expensive, soon));
  BOOST_TEST(a.past_caches(expensive, run) >= run - seldom);
}

/// If some copies are expensive, the sum decides: half of them are too many.
BOOST_AUTO_TEST_CASE(some_expensive_copies_are_too_many) {
  for (shape const& s : shapes) {
    sender a(s);
    machine const mixture{[](unsigned k) { return duration(one_in(2, k) ? 25'000 : 1600); },
                          separate_caches.past_caches};
    BOOST_TEST(a.copies_until(path::past_caches, mixture) <= std::max(15 * s.lap(), soon));
  }
}

/// A ring that is expensive for one lap does not mislead, at any position.
BOOST_AUTO_TEST_CASE(one_lap_is_no_evidence) {
  for (shape const& s : shapes) {
    sender fresh(s);
    static_cast<void>(fresh.past_caches(fresh_ring, s.lap()));
    BOOST_TEST(fresh.past_caches(one_cache, run) <= seldom);

    sender back(s);
    static_cast<void>(back.copies_until(path::past_caches, a_cache_each));
    static_cast<void>(back.copies_until(path::through_caches, one_cache));
    BOOST_TEST(back.past_caches(small_caches, s.lap()) <= s.lap() / 16 + 2);

    sender a(s);
    unsigned past = 0;
    unsigned copies = 0;
    for (unsigned warm = 3 * s.lap(); warm < 3 * s.lap() + 256; ++warm) {
      past += a.past_caches(one_cache, warm) + a.past_caches(small_caches, s.lap());
      copies += warm + s.lap();
    }
    BOOST_TEST(past <= copies / 100);
  }
}

/// Copies that are expensive or cheap by chance do not mislead either.
BOOST_AUTO_TEST_CASE(noise_is_no_evidence) {
  constexpr auto noise = [](unsigned k) { return one_in(10, k) ? interruption : one_cache.through_caches(k); };
  constexpr auto mostly_expensive = [](unsigned k) { return duration(one_in(3, k) ? 4000 : 22'000); };
  constexpr auto frequent_noise = [](unsigned k) { return one_in(3, k) ? interruption : duration(2000); };
  for (shape const& s : shapes) {
    BOOST_TEST(sender(s).past_caches({noise, one_cache.past_caches}, run) <= seldom);

    sender past(s);
    static_cast<void>(past.copies_until(path::past_caches, a_cache_each));
    BOOST_TEST(past.past_caches({separate_caches.through_caches, frequent_noise}, run) >= run - seldom);
    BOOST_TEST(past.past_caches({mostly_expensive, one_cache.past_caches}, run) >= run / 10 * 9);
  }
}

/// The account soon notices a wrong choice: after tens of messages if it has just changed, else after some more.
BOOST_AUTO_TEST_CASE(returns_soon) {
  for (shape const& s : shapes) {
    sender a(s);
    static_cast<void>(a.copies_until(path::past_caches, a_cache_each));
    BOOST_TEST(a.copies_until(path::through_caches, one_cache) <= 80U);
    static_cast<void>(a.past_caches(separate_caches, run));
    BOOST_TEST(a.copies_until(path::through_caches, shared_cache) <= 2 * copy_strategy::trial_interval);
  }
}

BOOST_AUTO_TEST_CASE(doubts_pass) {
  sender a;
  static_cast<void>(a.copies_until(path::past_caches, separate_caches));
  for (int trial = 0; trial < 40; ++trial) {
    while (a.copy(trial % 4 == 3 ? separate_caches : shared_cache) == path::past_caches) {
    }
  }
  BOOST_TEST(a.past_caches(separate_caches, run) >= run - seldom);
}

/// The cost of wrong choices is bounded, even if the machine changes often.
BOOST_AUTO_TEST_CASE(flips_cost_little) {
  for (shape const& s : shapes) {
    sender a(s);
    constexpr unsigned flips = 50;
    unsigned const stay = 20 * s.lap() + 1000;
    for (unsigned flip = 0; flip < flips; ++flip) {
      static_cast<void>(a.past_caches(flip % 2 == 0 ? shared_cache : separate_caches, stay));
    }
    std::int64_t const laps_wrong = std::max(2 * s.lap(), 5 * copy_strategy::timing_interval);
    std::int64_t const best = stay * (1600 + 2000) * flips / 2;
    std::int64_t const found_out = laps_wrong * (25'000 - 2000) * flips / 2;
    // Trials, and a return that takes up to two of them.
    std::int64_t const trials = stay * ((2500 - 1600) + (25'000 - 2000)) / 64 * flips / 2;
    BOOST_TEST(a.took().count() <= best + found_out + trials);
  }
}

/// Reading the clock must cost little against a short copy.
BOOST_AUTO_TEST_CASE(few_copies_are_timed) {
  copy_strategy account(usual.ring);
  unsigned timings = 0;
  for (unsigned k = 0; k < run; ++k) {
    timings += account.next().is_timed ? 1U : 0U;
  }
  BOOST_TEST(timings <= run / 8);
}

}  // namespace
