// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <faults/trials.hpp>
#include <tutti/shrink.hpp>
#include <tutti/tutti.hpp>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <new>
#include <optional>
#include <random>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/// Kills a rank, or the parent of all, at a random moment of joining, splitting, computing, shrinking or agreeing; some
/// have forked a helper that lives on. The others get an error other than a passed deadline, continue without it and
/// sum right. All that agree, the killed ones included, have one result. A killed process leaves neither memory nor
/// descriptors nor processes behind.
namespace tutti::faults {

using namespace std::chrono_literals;
using support::verdict;

enum class phase { join, split, compute, shrink, agree };

/// The first result of each agreement, which all processes of a trial share; 0: none yet.
struct results {
  std::atomic<std::uint64_t> first[1024];
};

/// The random choices of one trial.
struct plan {
  explicit plan(std::uint64_t seed) : random(static_cast<std::uint_fast32_t>(seed * 2654435761U % 2147483646U + 1)) {
    random.discard(3);
    ranks = 2 + draw(4);
    victim = draw(ranks + 1);
    kill_phase = static_cast<phase>(draw(5));
    delay = std::chrono::microseconds(draw(draw(2) == 0 ? 300 : 5000));
    has_helper = draw(2) == 0;
  }
  std::uint32_t draw(std::uint32_t limit) { return static_cast<std::uint32_t>(random() >> 8U) % limit; }

  std::minstd_rand random;
  rank_type ranks;
  rank_type victim;  ///< equal to `ranks`: the parent
  phase kill_phase;
  std::chrono::microseconds delay;
  bool has_helper;
  int lifeline[2] = {-1, -1};  ///< a pipe; helpers live until it closes

  results* agreements = nullptr;

  /// The number of ranks that are killed.
  [[nodiscard]] rank_type deaths() const { return kill_phase == phase::shrink || kill_phase == phase::agree ? 2 : 1; }
  /// True if this rank is killed: the victim, or the next rank while survivors shrink the world or agree.
  [[nodiscard]] bool kills(rank_type r) const { return r == victim || (deaths() == 2 && r == (victim + 1) % ranks); }
};

/// Kills this process after `wait`, in whatever it is doing.
inline void die_after(std::chrono::microseconds wait) {
  sigevent notification{};
  notification.sigev_notify = SIGEV_SIGNAL;
  notification.sigev_signo = SIGKILL;
  timer_t timer{};
  itimerspec expiry{};
  expiry.it_value.tv_nsec = static_cast<long>(wait.count() * 1000 + 1);
  if (::timer_create(CLOCK_MONOTONIC, &notification, &timer) != 0 || ::timer_settime(timer, 0, &expiry, nullptr) != 0) {
    ::raise(SIGKILL);
  }
}

/// Dies; if planned, forks a helper first that outlives it.
inline void die(plan const& p) {
  if (p.has_helper && ::fork() == 0) {
    char c = 0;
    ::close(p.lifeline[1]);
    std::ignore = ::read(p.lifeline[0], &c, 1);
    ::_exit(0);
  }
  die_after(p.delay);
}

/// Checks the sum of a 1 from each rank.
template <class World>
verdict sum_ones(World& world, std::size_t count) {
  std::vector<int> v(count, 1);
  allreduce{world, doubling{}, sum<int>{}}(v);
  for (int const x : v) {
    if (x != static_cast<int>(world.size())) {
      return std::string(wrong_number) + "a sum of " + std::to_string(world.size()) + " ones is " + std::to_string(x);
    }
  }
  return "";
}

/// Repeats `work` until it fails because a rank is gone.
template <class Work>
verdict repeat_until_death(Work&& work) {
  try {
    for (;;) {
      if (verdict complaint = work(); !complaint.empty()) {
        return complaint;
      }
    }
  } catch (error const& e) {
    return e.kind() == failure::deadline ? std::string(hang) + e.what() : e.kind() == failure::mismatch ? e.what() : "";
  }
}

/// Empty if an error of a communicator names the killed rank alone. If that rank is no member, the error must name a
/// fault in another communicator.
template <class World>
verdict names_the_victim(error const& e, World const& world, rank_type victim) {
  bool const names_other = std::string_view(e.what()).find("in another communicator") != std::string_view::npos;
  bool is_member = false;
  for (rank_type r = 0; r < world.size(); ++r) {
    is_member = is_member || world.parent_rank(r) == victim;
  }
  bool const is_named =
      is_member ? e.at_fault().size() == 1 && world.parent_rank(e.at_fault()[0]) == victim : names_other;
  return is_named
             ? ""
             : std::string(wrong_name) + "killed was rank " + std::to_string(victim) + ", and not named: " + e.what();
}

/// Agrees again and again until all ranks that are to be killed are lost. The second one dies once the first is lost.
template <class Detector>
verdict agree_until_death(Detector& detector, plan const& p, rank_type me) {
  auto const value_of = [](rank_type r, std::size_t turn) {
    return 0xffffffffU & ~(std::uint64_t{1} << ((5 * r + turn) % 32));
  };
  bool is_dying = me == p.victim;
  for (std::size_t turn = 0;; ++turn) {
    auto const result = detector.agree(value_of(me, turn));
    std::uint64_t losses = 0;
    for (rank_type const r : result.lost_ranks) {
      losses |= std::uint64_t{1} << r;
    }
    std::uint64_t const text = std::uint64_t{1} << 63 | losses << 32 | result.value;
    std::uint64_t first = 0;
    if (turn < std::size(p.agreements->first) && !p.agreements->first[turn].compare_exchange_strong(first, text) &&
        first != text) {
      return std::string(wrong_number) + "agreement " + std::to_string(turn) + " has two results";
    }
    std::uint64_t expected = 0xffffffffU;
    for (rank_type const r : detector.members()) {
      expected &= value_of(r, turn);
    }
    if ((result.value & expected) != result.value) {
      return std::string(wrong_number) + "a member's value is not in the result";
    }
    for (rank_type const r : result.lost_ranks) {
      if (!p.kills(r)) {
        return std::string(wrong_name) + "rank " + std::to_string(r) + " is lost";
      }
    }
    if (result.lost_ranks.size() == p.deaths()) {
      return "";
    }
    if (p.kills(me) && !is_dying && !result.lost_ranks.empty()) {
      is_dying = true;
      die(p);
    }
  }
}

/// The program of a rank. A rank that is killed does not return.
template <class Transport>
verdict work(detail::process_rendezvous& meet, plan const& p) {
  rank_type const me = meet.rank();
  world_options<Transport> options;
  options.deadline = 30s;
  if (p.kill_phase == phase::join) {
    if (me == p.victim) {
      die(p);
    }
    return repeat_until_death([&]() -> verdict {
      communicator<Transport> world(meet, options);
      return sum_ones(world, 1);
    });
  }
  communicator<Transport> world(meet, options);
  failure_detector detector{world, 30s};
  meet.exchange("");  // all have a detector
  std::uint32_t turn = 0;
  // A second communicator of all ranks: a fault in one makes ranks leave the other.
  std::optional<communicator<Transport>> whole;
  if (p.kill_phase == phase::split) {
    whole.emplace(dup(world));
    meet.exchange("");
  }
  if (me == p.victim) {
    die(p);
  }
  verdict complaint =
      p.kill_phase == phase::agree ? agree_until_death(detector, p, me) : repeat_until_death([&]() -> verdict {
        std::size_t const count = std::size_t{1} << (++turn % 18);
        auto const sum_in = [&](auto& communicator) -> verdict {
          try {
            return sum_ones(communicator, count);
          } catch (error const& e) {
            verdict const wrong = names_the_victim(e, communicator, p.victim);
            return wrong.empty() ? "left" : wrong;
          }
        };
        if (p.kill_phase != phase::split) {
          return sum_ones(world, count);
        }
        if (turn % 4 == 0) {
          auto part = split(world, (me + turn / 4) % 2);
          return sum_in(part);
        }
        return turn % 2 == 0 ? sum_in(world) : sum_in(*whole);
      });
  complaint = complaint == "left" ? "" : complaint;
  whole.reset();
  if (p.kills(me)) {
    die(p);
  }
  for (rank_type const last = p.ranks - p.deaths(); complaint.empty();) {
    auto smaller = detector.shrink();
    if (smaller.size() <= last) {
      return sum_ones(smaller, 1000);
    }
    complaint = repeat_until_death([&] { return sum_ones(smaller, 1000); });
  }
  return complaint;
}

/// Kills a rank, and checks that every other one leaves nothing open.
template <class Transport>
verdict kill_a_rank(plan const& p) {
  auto const ends = detail::run_processes(p.ranks, [&](detail::process_rendezvous& meet) -> verdict {
    return without_open_descriptors([&] { return work<Transport>(meet, p); });
  });
  verdict complaints;
  for (rank_type r = 0; r < p.ranks; ++r) {
    if (ends[r] ? !ends[r].value().empty() : !p.kills(r) || ends[r].failure().signal != SIGKILL) {
      complaints += "; rank " + std::to_string(r) + ": " + (ends[r] ? ends[r].value() : ends[r].failure().text);
    }
  }
  return complaints;
}

template <class Transport>
verdict kill_the_parent(plan const& p) {
  pid_t const parent = ::fork();
  if (parent == 0) {
    die_after(p.delay * 4);  // starting the ranks takes a while
    std::ignore =
        detail::run_processes(p.ranks, [&](detail::process_rendezvous& meet) { return work<Transport>(meet, p); });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(parent, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? "" : "; the parent has come to an end";
}

/// The name of the kind of a trial.
inline std::string kind_of_kill(std::uint64_t seed) {
  constexpr char const* phases[] = {"join", "split", "compute", "shrink", "agree"};
  return std::string("killed while ranks ") + phases[static_cast<int>(plan(seed).kill_phase)];
}

/// Runs one trial over a transport. Returns a complaint or "".
template <class Transport>
verdict trial_of_kills(std::uint64_t seed) {
  plan p(seed);
  if (::pipe(p.lifeline) != 0) {
    return "no pipe";
  }
  void* const page = ::mmap(nullptr, sizeof(results), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return "no memory";
  }
  p.agreements = ::new (page) results{};
  verdict const complaints = p.victim == p.ranks ? kill_the_parent<Transport>(p) : kill_a_rank<Transport>(p);
  ::close(p.lifeline[0]);
  ::close(p.lifeline[1]);
  ::munmap(page, sizeof(results));
  return complaints.empty()
             ? complaints
             : std::to_string(p.ranks) + " ranks" + " over " + std::string(Transport::name) +
                   (p.has_helper ? ", helped" : "") + ", victim " + std::to_string(p.victim) + complaints;
}

}  // namespace tutti::faults
