// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/run_as.hpp>
#include <tutti/allocator.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

/// The ranks that an error names when a deadline passes: the straggler that all wait for, directly or through others,
/// or the ranks that wait for each other. Each law runs a world and returns a complaint.
namespace laws {

using tutti::failure;
using tutti::rank_type;

/// Long enough for operations that succeed, short enough for many trials.
inline constexpr tutti::duration short_deadline = std::chrono::milliseconds(300);

/// Returns "" if a rank's error says that exactly these ranks are late.
template <class Outcome>
[[nodiscard]] std::string blames(Outcome const& outcome, rank_type r, std::vector<rank_type> const& late) {
  if (!outcome && outcome.failure().kind == failure::deadline && outcome.failure().at_fault == late) {
    return {};
  }
  return "rank " + std::to_string(r) + ": " + (outcome ? "it did not fail" : outcome.failure().text);
}

/// Runs a world in which one rank never does its part.
template <class Transport, class Act>
[[nodiscard]] std::string all_but_one(rank_type n, rank_type late, Act act) {
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) {
    world.deadline(short_deadline);
    while (world.rank() == late && !world.transport().fault()) {
      world.poll();  // until all others have given up
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    act(world);
  });
  std::string complaint;
  for (rank_type r = 0; r < n && complaint.empty(); ++r) {
    complaint = blames(results[r], r, {late});
  }
  return complaint;
}

/// One rank never makes the call that the others make.
template <class Transport, class Topology>
[[nodiscard]] std::string a_late_rank(Topology topology, rank_type n, rank_type late, std::size_t count) {
  return all_but_one<Transport>(n, late, [&](auto& world) {
    tutti::allreduce sum{world, run_as(world, topology), tutti::sum<float>{}};
    std::vector<float> v(count, 1);
    sum(v);
  });
}

/// An awaited operation waits for its turn, behind operations that the late rank delays and that nothing awaits.
template <class Transport, class Topology>
[[nodiscard]] std::string a_turn_behind_a_late_rank(Topology topology, rank_type n, rank_type late) {
  std::string const sums = all_but_one<Transport>(n, late, [&](auto& world) {
    tutti::allreduce sum{world, run_as(world, topology), tutti::sum<float>{}};
    std::vector<float> v(tutti::collective_lanes + 1, 1);
    std::vector<tutti::request> requests;
    for (float& x : v) {
      requests.push_back(sum.start(std::span(&x, 1)));
    }
    requests.back().wait();
  });
  return sums + all_but_one<Transport>(n, late, [&](auto& world) {
           tutti::recv take{world};
           std::vector<int> v(2);
           rank_type const sender = world.rank() == late ? (late + 1) % n : late;
           auto first = take.start(std::span(&v[0], 1), sender);
           take(std::span(&v[1], 1), sender);
         });
}

/// The first `members` ranks of a world receive from each other, the others from them; the errors show the calls.
template <class Transport>
[[nodiscard]] std::string ranks_that_wait_for_each_other(rank_type n, rank_type members) {
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) {
    world.deadline(short_deadline);
    tutti::recv take{world};
    rank_type const me = world.rank();
    std::vector<int> v(me + 1);
    take(v, me < members ? (me + 1) % members : me - 1);
  });
  std::vector<rank_type> members_in_order;
  std::string calls;
  for (rank_type r = 0; r < members; ++r) {
    members_in_order.push_back(r);
  }
  for (rank_type r = 0; r < n; ++r) {
    if (std::string complaint = blames(results[r], r, members_in_order); !complaint.empty()) {
      return complaint;
    }
    calls += results[r].failure().text;
  }
  for (rank_type r = 0; r < members; ++r) {
    auto const call =
        "waits for rank " + std::to_string((r + 1) % members) + " in send/recv(int32 x " + std::to_string(r + 1) + ")";
    if (calls.find(call) == std::string::npos) {
      return "no rank says '" + call + "': " + calls;
    }
  }
  return {};
}

/// Counts the processes that report. Must be made before they are forked.
class tally {
 public:
  tally() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe2");
    }
  }
  tally(tally const&) = delete;
  tally& operator=(tally const&) = delete;
  ~tally() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void tell() {
    char const word = 0;
    std::ignore = ::write(ends_[1], &word, 1);
  }
  /// True if this many processes have reported, each within the time limit.
  [[nodiscard]] bool await(rank_type processes, int milliseconds = 10'000) {
    ::pollfd event{.fd = ends_[0], .events = POLLIN, .revents = 0};
    char word = 0;
    for (; processes != 0 && ::poll(&event, 1, milliseconds) == 1 && ::read(ends_[0], &word, 1) == 1; --processes) {
    }
    return processes == 0;
  }

 private:
  int ends_[2] = {};
};

/// The moment at which a process is stopped: after `operations` operations and a delay of `later`.
struct moment {
  int operations = 3;
  tutti::duration later{};
};

/// A process is stopped by SIGSTOP until all others have their errors.
template <class Transport, class Topology>
[[nodiscard]] std::string a_stopped_rank(Topology topology, rank_type n, rank_type victim, std::size_t count,
                                         moment stop) {
  tally errors;
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) {
    world.deadline(short_deadline);
    tutti::allreduce sum{world, run_as(world, topology), tutti::sum<float>{}};
    std::vector<float> v(count, 1);
    auto const pid = static_cast<::pid_t>(world.members()[victim].pid);
    bool const stops = world.rank() == (victim + 1) % n;
    try {
      for (int k = 0;; ++k) {
        if (stops && k == stop.operations) {
          for (tutti::time_point const begin = tutti::steady_now(); tutti::steady_now() - begin < stop.later;) {
          }
          ::kill(pid, SIGSTOP);
          if (::fork() == 0) {
            // A rank whose memory the stopped process was writing gets its error only when that process has ended.
            std::ignore = errors.await(n - 1);
            ::kill(pid, SIGKILL);
            ::_exit(0);
          }
        }
        sum(v);
      }
    } catch (tutti::error const&) {
      errors.tell();
      throw;
    }
  });
  std::string complaint;
  for (rank_type r = 0; r < n && complaint.empty(); ++r) {
    complaint = r == victim ? "" : blames(results[r], r, {victim});
  }
  return complaint;
}

/// A process is stopped while it reads another one's memory. The others get their errors and their memory back before
/// it continues; it gets an error, too, whatever it has read.
template <class Transport>
[[nodiscard]] std::string a_rank_stopped_while_it_reads(rank_type n, rank_type victim) {
  tally errors;
  tally of_victim;
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) {
    world.deadline(short_deadline);
    bool stops = world.rank() == victim;
    auto const add = [&stops](float a, float b) {
      if (std::exchange(stops, false)) {
        ::raise(SIGSTOP);
      }
      return a + b;
    };
    tutti::allreduce sum{world, tutti::ring{}, tutti::reduce_with<float>(add, tutti::commutative, tutti::associative)};
    std::vector<float, tutti::allocator<float>> v(300'000, 1, tutti::allocator<float>(world));
    try {
      sum(v);
    } catch (tutti::error const&) {
      std::fill(v.begin(), v.end(), 1e9F);
      errors.tell();
      if (world.rank() == victim) {
        of_victim.tell();
      } else if (world.rank() == (victim + 1) % n && errors.await(n - 1)) {
        // On a busy machine the deadline, and the first of these signals, may precede its stop.
        int tries = 100;
        do {
          ::kill(static_cast<::pid_t>(world.members()[victim].pid), SIGCONT);
        } while (!of_victim.await(1, 100) && --tries != 0);
      }
      throw;
    }
  });
  std::string complaint;
  for (rank_type r = 0; r < n && complaint.empty(); ++r) {
    complaint = blames(results[r], r, {victim});
  }
  return complaint;
}

}  // namespace laws
