// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE transport_copy_account
#include <tutti/transport/copy_account.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

/// A rank copies in the cheaper way, whatever the machine makes of it from one moment to the next.
namespace {

using tutti::copy_account;
using tutti::duration;
using way = copy_account::way;

constexpr std::size_t bytes = 65536;

/// What copies of so many bytes take on a machine; by number, for no two are alike.
struct machine {
  std::string name;
  duration (*through_caches)(unsigned copy);
  duration (*past_caches)(unsigned copy);
};

/// As measured, 64 KiB: docs/performance.md. Some copies are interrupted.
constexpr duration interruption{4'000'000};
machine const one_cache{"one cache",
                        [](unsigned k) { return k % 25 == 0 ? interruption : duration(1400 + k % 7 * 600); },
                        [](unsigned k) { return k % 40 == 0 ? interruption : duration(2000 + k % 5 * 500); }};
machine const a_cache_each{"a cache each",
                           // Now and then the peer's cache has been washed.
                           [](unsigned k) { return k % 3 == 1 ? duration(4000) : duration(22'000 + k % 9 * 700); },
                           [](unsigned k) { return k % 40 == 0 ? interruption : duration(2000 + k % 5 * 500); }};

/// How many of so many copies go past the caches.
unsigned past_caches(copy_account& account, machine const& m, unsigned copies) {
  unsigned past = 0;
  for (unsigned k = 0; k < copies; ++k) {
    auto const [by, timed] = account.next();
    past += by == way::past_caches ? 1U : 0U;
    if (timed) {
      account.took(by, bytes, by == way::past_caches ? m.past_caches(k) : m.through_caches(k));
    }
  }
  return past;
}

constexpr unsigned many = 100'000;
constexpr unsigned trials = many / copy_account::tried_each + 1;
/// How soon it follows, in copies: through the caches one that is timed in eight is looked at, past them only a trial.
constexpr unsigned soon_past = 40 * copy_account::timed_each;
constexpr unsigned soon_back = 6 * copy_account::tried_each;

BOOST_AUTO_TEST_CASE(stays_in_the_caches_while_they_are_shared) {
  copy_account account;
  BOOST_TEST(past_caches(account, one_cache, many) <= trials);
}

BOOST_AUTO_TEST_CASE(goes_past_caches_that_are_not_shared) {
  copy_account account;
  static_cast<void>(past_caches(account, a_cache_each, soon_past));
  BOOST_TEST(past_caches(account, a_cache_each, many) >= many - trials);
}

BOOST_AUTO_TEST_CASE(follows_the_machine) {
  copy_account account;
  for (int change = 0; change < 10; ++change) {
    static_cast<void>(past_caches(account, one_cache, soon_back));
    BOOST_TEST(past_caches(account, one_cache, many) <= trials);
    static_cast<void>(past_caches(account, a_cache_each, soon_past));
    BOOST_TEST(past_caches(account, a_cache_each, many) >= many - trials);
  }
}

/// What a machine's memory costs does not matter, only what the two ways cost on it.
BOOST_AUTO_TEST_CASE(a_slower_machine_is_judged_alike) {
  copy_account account;
  machine const slow{"slow", [](unsigned k) { return 30 * one_cache.through_caches(k); },
                     [](unsigned k) { return 30 * one_cache.past_caches(k); }};
  BOOST_TEST(past_caches(account, slow, many) <= trials);
}

/// Reading the clock must not cost much against a short copy.
BOOST_AUTO_TEST_CASE(few_copies_are_timed) {
  copy_account account;
  unsigned timed = 0;
  for (unsigned k = 0; k < many; ++k) {
    timed += account.next().timed ? 1U : 0U;
  }
  BOOST_TEST(timed == many / copy_account::timed_each);
}

}  // namespace
