// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/shared_memory/copy_account.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <random>

/// A rank copies in the cheaper way, whatever the machine makes of it from one moment to the next.
namespace {

using tutti::duration;
using tutti::detail::copy_account;
using path = copy_account::path;

/// What a ring is copied to in: as transports do it.
struct shape {
  std::size_t ring;
  std::size_t bytes;
  [[nodiscard]] unsigned lap() const { return static_cast<unsigned>(ring / bytes); }
};
constexpr shape usual{std::size_t{2} << 20, 65536};
constexpr std::array shapes{shape{usual.ring, 4096}, shape{usual.ring, 16384}, usual,
                            shape{usual.ring / 2, 2 * usual.bytes}};

/// What copies of 64 KiB take on a machine; by number, for no two are alike.
struct machine {
  duration (*through_caches)(unsigned copy);
  duration (*past_caches)(unsigned copy);
};

/// One in `many`, at random.
constexpr auto one_in = [](unsigned many, unsigned copy) {
  return std::minstd_rand(copy * 2654435761U + 1U)() % many == 0;
};

/// As measured: docs/guide/performance.md. Some copies are interrupted.
constexpr duration interruption{4'000'000};
constexpr machine one_cache{[](unsigned k) { return k % 25 == 0 ? interruption : duration(1400 + k % 7 * 600); },
                            [](unsigned k) { return k % 40 == 0 ? interruption : duration(2000 + k % 5 * 500); }};
constexpr machine a_cache_each{
    // Now and then the peer's cache has been washed.
    [](unsigned k) { return one_in(8, k) ? duration(4000) : duration(22'000 + k % 9 * 700); }, one_cache.past_caches};
/// The same, and nothing disturbs.
constexpr machine near{[](unsigned) { return duration(1600); }, [](unsigned) { return duration(2500); }};
constexpr machine apart{[](unsigned) { return duration(25'000); }, [](unsigned) { return duration(2000); }};
/// No cache holds the ring.
constexpr machine washed{[](unsigned k) { return duration(20'000 + k % 7 * 600); }, one_cache.past_caches};
/// The ring is touched for the first time.
constexpr machine untouched{[](unsigned k) { return duration(36'000 + k % 7 * 600); },
                            [](unsigned k) { return duration(30'000 + k % 5 * 500); }};

/// One that copies as its account says, always as many bytes.
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
  /// How many of this many copies go past the caches.
  unsigned past_caches(machine const& m, unsigned copies) {
    unsigned past = 0;
    for (unsigned k = 0; k < copies; ++k) {
      past += copy(m) == path::past_caches ? 1U : 0U;
    }
    return past;
  }
  /// How many copies it takes until seven in a row, all those between two that are timed, go so.
  unsigned until(path choice, machine const& m) {
    unsigned k = 0;
    for (unsigned so = 0; so < 7 && k < 100'000; ++k) {
      so = copy(m) == choice ? so + 1 : 0;
    }
    return k;
  }
  [[nodiscard]] duration took() const { return took_; }

 private:
  shape shape_;
  copy_account account_;
  unsigned copies_ = 0;
  duration took_{};
};

constexpr unsigned many = 100'000;
/// Trials: one in 128, more where there is doubt.
constexpr unsigned seldom = many / 100;
/// How soon it follows, in copies of 64 KiB.
constexpr unsigned soon = 320;

BOOST_AUTO_TEST_CASE(stays_in_the_caches_while_they_are_shared) {
  for (shape const& s : shapes) {
    BOOST_TEST(sender(s).past_caches(one_cache, many) <= seldom);
  }
}

BOOST_AUTO_TEST_CASE(goes_past_caches_that_are_not_shared) {
  for (shape const& s : shapes) {
    sender a(s);
    BOOST_TEST(a.until(path::past_caches, a_cache_each) <= std::max(soon, 6 * s.lap()));
    BOOST_TEST(a.past_caches(a_cache_each, many) >= many - seldom);
  }
}

BOOST_AUTO_TEST_CASE(follows_the_machine) {
  sender a;
  for (int change = 0; change < 10; ++change) {
    static_cast<void>(a.past_caches(one_cache, soon));
    BOOST_TEST(a.past_caches(one_cache, many) <= seldom);
    static_cast<void>(a.past_caches(a_cache_each, soon));
    BOOST_TEST(a.past_caches(a_cache_each, many) >= many - seldom);
  }
}

/// What a machine's memory costs does not matter, only what the two ways cost on it.
BOOST_AUTO_TEST_CASE(a_slower_machine_is_judged_alike) {
  BOOST_TEST(sender().past_caches({[](unsigned k) { return 30 * one_cache.through_caches(k); },
                                   [](unsigned k) { return 30 * one_cache.past_caches(k); }},
                                  many) <= seldom);
}

BOOST_AUTO_TEST_CASE(the_price_decides) {
  constexpr auto past = [](unsigned) { return duration(2000); };
  BOOST_TEST(sender().past_caches({[](unsigned) { return duration(5900); }, past}, many) <= seldom);
  sender a;
  machine const dear{[](unsigned) { return duration(6200); }, past};
  static_cast<void>(a.past_caches(dear, soon));
  BOOST_TEST(a.past_caches(dear, many) >= many - seldom);
}

/// Where only some copies are dear, the sum decides: half of them are too many.
BOOST_AUTO_TEST_CASE(some_dear_copies_are_too_many) {
  for (shape const& s : shapes) {
    sender a(s);
    machine const mixed{[](unsigned k) { return duration(one_in(2, k) ? 25'000 : 1600); }, apart.past_caches};
    BOOST_TEST(a.until(path::past_caches, mixed) <= std::max(15 * s.lap(), soon));
  }
}

/// A ring that is dear for one lap, wherever on it that begins, does not mislead.
BOOST_AUTO_TEST_CASE(one_lap_is_no_evidence) {
  for (shape const& s : shapes) {
    sender fresh(s);
    static_cast<void>(fresh.past_caches(untouched, s.lap()));
    BOOST_TEST(fresh.past_caches(one_cache, many) <= seldom);

    sender back(s);
    static_cast<void>(back.until(path::past_caches, a_cache_each));
    static_cast<void>(back.until(path::through_caches, one_cache));
    BOOST_TEST(back.past_caches(washed, s.lap()) <= s.lap() / 16 + 2);

    sender a(s);
    unsigned past = 0;
    unsigned copies = 0;
    for (unsigned warm = 3 * s.lap(); warm < 3 * s.lap() + 256; ++warm) {
      past += a.past_caches(one_cache, warm) + a.past_caches(washed, s.lap());
      copies += warm + s.lap();
    }
    BOOST_TEST(past <= copies / 100);
  }
}

/// Nor do copies that are dear by chance, or cheap.
BOOST_AUTO_TEST_CASE(noise_is_no_evidence) {
  constexpr auto disturbed = [](unsigned k) { return one_in(10, k) ? interruption : one_cache.through_caches(k); };
  constexpr auto mostly_dear = [](unsigned k) { return duration(one_in(3, k) ? 4000 : 22'000); };
  constexpr auto often_disturbed = [](unsigned k) { return one_in(3, k) ? interruption : duration(2000); };
  for (shape const& s : shapes) {
    BOOST_TEST(sender(s).past_caches({disturbed, one_cache.past_caches}, many) <= seldom);

    sender past(s);
    static_cast<void>(past.until(path::past_caches, a_cache_each));
    BOOST_TEST(past.past_caches({apart.through_caches, often_disturbed}, many) >= many - seldom);
    BOOST_TEST(past.past_caches({mostly_dear, one_cache.past_caches}, many) >= many / 10 * 9);
  }
}

/// It soon sees that it was wrong: after tens of messages if it has just changed its mind, else after some more.
BOOST_AUTO_TEST_CASE(returns_soon) {
  for (shape const& s : shapes) {
    sender a(s);
    static_cast<void>(a.until(path::past_caches, a_cache_each));
    BOOST_TEST(a.until(path::through_caches, one_cache) <= 80U);
    static_cast<void>(a.past_caches(apart, many));
    BOOST_TEST(a.until(path::through_caches, near) <= 2 * copy_account::trial_interval);
  }
}

BOOST_AUTO_TEST_CASE(doubts_pass) {
  sender a;
  static_cast<void>(a.until(path::past_caches, apart));
  for (int trial = 0; trial < 40; ++trial) {
    while (a.copy(trial % 4 == 3 ? apart : near) == path::past_caches) {
    }
  }
  BOOST_TEST(a.past_caches(apart, many) >= many - seldom);
}

/// What it costs to be wrong for a while is bounded, however often the machine changes.
BOOST_AUTO_TEST_CASE(flips_cost_little) {
  for (shape const& s : shapes) {
    sender a(s);
    constexpr unsigned flips = 50;
    unsigned const stay = 20 * s.lap() + 1000;
    for (unsigned flip = 0; flip < flips; ++flip) {
      static_cast<void>(a.past_caches(flip % 2 == 0 ? near : apart, stay));
    }
    std::int64_t const laps_wrong = std::max(2 * s.lap(), 5 * copy_account::timing_interval);
    std::int64_t const best = stay * (1600 + 2000) * flips / 2;
    std::int64_t const found_out = laps_wrong * (25'000 - 2000) * flips / 2;
    // Trials, and a way back that takes up to two of them.
    std::int64_t const tried = stay * ((2500 - 1600) + (25'000 - 2000)) / 64 * flips / 2;
    BOOST_TEST(a.took().count() <= best + found_out + tried);
  }
}

/// Reading the clock must not cost much against a short copy.
BOOST_AUTO_TEST_CASE(few_copies_are_timed) {
  copy_account account(usual.ring);
  unsigned timed = 0;
  for (unsigned k = 0; k < many; ++k) {
    timed += account.next().is_timed ? 1U : 0U;
  }
  BOOST_TEST(timed <= many / 8);
}

}  // namespace
