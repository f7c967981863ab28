// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/late.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/shrink.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

/// Worlds that shrink when ranks die, and continue. Each function runs a world and asserts, on the main thread, the
/// reports of its ranks.
namespace laws {

using tutti::rank_type;

/// Ends this rank without notice: its process or, for a thread, everything that its world can see.
template <class Transport>
[[noreturn]] void die() {
  if constexpr (!tutti::in_process<Transport>) {
    ::kill(::getpid(), SIGKILL);
  }
  throw std::runtime_error("died");
}

/// Sums until a rank is missing. Returns "" if every sum was right and an error named the rank.
template <class World>
std::string sum_until_a_fault(World& world, std::vector<rank_type> const& members, rank_type me,
                              auto&& before_the_tenth) {
  float expected = 0;
  for (rank_type const r : members) {
    expected += static_cast<float>(r + 1);
  }
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
  std::vector<float> v(3000);
  try {
    for (int turn = 0; turn != 20; ++turn) {
      std::ranges::fill(v, static_cast<float>(me + 1));
      auto pending = sum.start(v);
      if (turn == 10) {
        before_the_tenth();
      }
      pending.wait();
      if (std::ranges::count(v, expected) != 3000) {
        return "a sum of " + std::to_string(members.size()) + " ranks is wrong";
      }
    }
  } catch (tutti::error const& e) {
    return e.at_fault().empty() ? "no rank is blamed: " + std::string(e.what()) : "";
  }
  return "no fault";
}

/// Returns a complaint unless a rank that shrinks learns that the others continued without it.
template <class Detector>
std::string is_left_out(Detector& detector, rank_type me) {
  try {
    if (detector.members().size() % 2 == 0) {
      return "it agreed on " + std::to_string(detector.agree(1).value);
    }
    return "it continued as a world of " + std::to_string(detector.shrink().size());
  } catch (tutti::error const& e) {
    std::string const text = e.what();
    bool const is_told = text.find("continued without rank " + std::to_string(me)) != std::string::npos;
    return e.kind() == tutti::failure::join && is_told ? "" : text;
  }
}

/// Some of n ranks die in the middle of a sum; the others continue, and some of those die, as `waves` lists. The
/// survivors are numbered from 0 in their former order, and their sums are right.
template <class Transport>
void those_that_are_left_go_on(rank_type n, std::vector<std::vector<rank_type>> const& waves,
                               tutti::duration patience = tutti::join_timeout) {
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) -> std::string {
    rank_type const me = world.rank();
    world.deadline(std::chrono::seconds(40));
    tutti::failure_detector detector(world, patience);
    auto const die_in = [&](std::size_t wave) {
      return [&waves, wave, me] {
        if (std::ranges::count(waves[wave], me) != 0) {
          die<Transport>();
        }
      };
    };
    std::string wrong = sum_until_a_fault(world, detector.members(), me, die_in(0));
    for (std::size_t wave = 1; wave <= waves.size() && wrong.empty(); ++wave) {
      die_in(wave - 1)();  // another rank of this wave may have been faster
      auto smaller = detector.shrink();
      auto const& survivors = detector.members();
      if (smaller.size() != survivors.size() || survivors[smaller.rank()] != me || !std::ranges::is_sorted(survivors) ||
          smaller.parent_rank() != me || !smaller.name().starts_with("world+")) {
        return "the numbers are wrong";
      }
      wrong = wave == waves.size() ? sum_until_a_fault(smaller, survivors, me, [] {})
                                   : sum_until_a_fault(smaller, survivors, me, die_in(wave));
    }
    return wrong;
  });
  for (rank_type r = 0; r != n; ++r) {
    bool const is_dead = std::ranges::any_of(waves, [&](auto const& wave) { return std::ranges::count(wave, r) != 0; });
    std::string const text = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(is_dead == !results[r].has_value(), "rank " << r << " of " << n << ": " << text);
    BOOST_TEST((is_dead || text == "no fault"), "rank " << r << " of " << n << ": " << text);
  }
}

/// Survivors agree before a fault, after it, and in a smaller world's life: one value, one set of lost ranks.
template <class Transport>
void those_that_are_left_agree(rank_type n, std::vector<rank_type> const& dead) {
  auto const value_of = [](rank_type r, unsigned turn) { return ~(std::uint64_t{1} << (r + turn)); };
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) -> std::string {
    rank_type const me = world.rank();
    world.deadline(std::chrono::seconds(40));
    tutti::failure_detector detector(world);
    std::vector<rank_type> losses;
    auto const is_right = [&](unsigned turn) {
      std::uint64_t expected = ~std::uint64_t{0};
      for (rank_type const r : detector.members()) {
        expected &= value_of(r, turn);
      }
      auto const result = detector.agree(value_of(me, turn));
      return result.value == expected && result.lost_ranks == losses;
    };
    for (unsigned turn = 0; turn != 10; ++turn) {
      if (!is_right(turn)) {
        return "they disagree before a fault";
      }
    }
    auto const die_if_dead = [&] {
      if (std::ranges::count(dead, me) != 0) {
        die<Transport>();
      }
    };
    std::string wrong = sum_until_a_fault(world, detector.members(), me, die_if_dead);
    die_if_dead();  // another one may have been faster
    auto const first = detector.agree(value_of(me, 10));
    if (first.lost_ranks != dead || detector.members().size() != n - dead.size()) {
      return "a lost rank is not named, or another one is: " + tutti::detail::list_ranks(first.lost_ranks);
    }
    losses = dead;
    for (unsigned turn = 11; turn != 15; ++turn) {
      if (!is_right(turn)) {
        return "they disagree after a fault";
      }
    }
    auto smaller = detector.shrink();
    wrong += sum_until_a_fault(smaller, detector.members(), me, [] {});
    return is_right(15) ? wrong : "they disagree in a smaller world";
  });
  for (rank_type r = 0; r != n; ++r) {
    bool const is_dead = std::ranges::count(dead, r) != 0;
    std::string const text = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(is_dead == !results[r].has_value(), "rank " << r << " of " << n << ": " << text);
    BOOST_TEST((is_dead || text == "no fault"), "rank " << r << " of " << n << ": " << text);
  }
}

/// A rank that calls shrink while the others agree gets an error that names two ranks, and so do they; then they may
/// make the same call.
template <class Transport>
void different_calls_are_told_apart(rank_type n) {
  auto const results = tutti::spawn<Transport>(n, [n](auto& world) -> std::string {
    tutti::failure_detector detector(world);
    try {
      if (world.rank() == n - 1) {
        return "it continued as a world of " + std::to_string(detector.shrink().size());
      }
      return "it agreed on " + std::to_string(detector.agree(1).value);
    } catch (tutti::error const& e) {
      bool const is_told = e.kind() == tutti::failure::mismatch && e.at_fault() == std::vector<rank_type>{0, n - 1};
      return is_told && detector.agree(1).value == 1 ? "" : e.what();
    }
  });
  for (rank_type r = 0; r != n; ++r) {
    std::string const text = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(text == "", "rank " << r << " of " << n << ": " << text);
  }
}

/// The host of a shrink meeting is killed while the others are on their way to it, or after they have arrived.
template <class Transport>
void a_host_that_dies_is_followed_by_the_next(rank_type n) {
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) -> std::string {
    rank_type const me = world.rank();
    auto const host = static_cast<pid_t>(world.members()[1].pid);
    tutti::failure_detector detector(world);
    std::string const wrong = sum_until_a_fault(world, detector.members(), me, [&] {
      if (me == 0) {
        die<Transport>();
      }
    });
    if (me == n - 1) {  // the meeting would not end without this rank
      ::kill(host, SIGKILL);
    }
    auto smaller = detector.shrink();
    return smaller.size() == n - 2 && wrong.empty() ? sum_until_a_fault(smaller, detector.members(), me, [] {})
                                                    : wrong + "?";
  });
  for (rank_type r = 0; r != n; ++r) {
    std::string const text = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST((r < 2 ? results[r].failure().signal == SIGKILL : text == "no fault"), "rank " << r << ": " << text);
  }
}

/// Late ranks are left out, cannot return, and do not continue alone however often they try: neither while the others
/// work, nor after the others have ended, which looks as if they had died.
/// @pre the late ranks are a minority
template <class Transport>
  requires tutti::in_process<Transport>
void ranks_that_are_late_are_left_out(rank_type n, std::vector<rank_type> const& late, bool has_ended) {
  auto const survivor_count = static_cast<rank_type>(n - 1 - late.size());
  std::latch end_latch(survivor_count);
  std::latch given_up(static_cast<std::ptrdiff_t>(late.size()));
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) -> std::string {
    rank_type const me = world.rank();
    std::optional<tutti::failure_detector<Transport>> detector(
        std::in_place, world, std::chrono::milliseconds(1500));  // longer than a busy machine delays a rank
    std::string const wrong = sum_until_a_fault(world, detector->members(), me, [&] {
      if (me == n - 1) {
        die<Transport>();
      }
    });
    if (std::ranges::count(late, me) != 0) {
      end_latch.wait();
      std::string const text = wrong + is_left_out(*detector, me) + is_left_out(*detector, me);
      given_up.count_down();
      return text;
    }
    auto smaller = detector->shrink();
    std::string const end = sum_until_a_fault(smaller, detector->members(), me, [] {});
    if (has_ended) {
      detector.reset();  // closes its listener, as the end of its process would
    }
    end_latch.count_down();
    given_up.wait();
    return smaller.size() == survivor_count ? wrong + (end == "no fault" ? "" : end)
                                            : "its world is of " + std::to_string(smaller.size());
  });
  for (rank_type r = 0; r + 1 != n; ++r) {
    std::string const text = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(text == "", "rank " << r << " of " << n << (has_ended ? ", ended" : "") << ": " << text);
  }
}

/// Rank 0 is killed and rank 1 is stopped. Rank 1 wakes, and ends, when the others have continued without it and have
/// ended.
template <class Transport>
void a_stopped_rank_that_wakes_when_the_others_have_ended_ends(rank_type n) {
  tally end_tally;
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) -> std::string {
    rank_type const me = world.rank();
    world.deadline(std::chrono::seconds(1));
    std::optional<tutti::failure_detector<Transport>> detector(std::in_place, world, std::chrono::milliseconds(1500));
    std::string const wrong = sum_until_a_fault(world, detector->members(), me, [&] {
      if (me == 0) {
        die<Transport>();
      }
    });
    if (me == 1) {
      ::pid_t const process = ::getpid();
      if (::fork() == 0) {
        std::ignore = end_tally.await(n - 2);
        ::kill(process, SIGCONT);
        ::_exit(0);
      }
      ::raise(SIGSTOP);
      return wrong + is_left_out(*detector, me);
    }
    rank_type const survivor_count = detector->shrink().size();
    detector.reset();
    end_tally.tell();
    return survivor_count == n - 2 ? wrong : "its world is of " + std::to_string(survivor_count);
  });
  for (rank_type r = 1; r != n; ++r) {
    std::string const text = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(text == "", "rank " << r << " of " << n << ": " << text);
  }
}

}  // namespace laws
