// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <span>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

/// What a deadline that has passed names: the rank for which, directly or through others, all wait; or those that
/// wait for each other. Each law runs a world and returns a complaint.
namespace laws {

using tutti::failure;
using tutti::rank_type;

/// Long enough for what goes well, short enough for many trials.
inline constexpr tutti::duration short_deadline = std::chrono::milliseconds(300);

/// Whether a rank's error says that these are late, and nobody else.
template <class Outcome>
[[nodiscard]] std::string blames(Outcome const& o, rank_type r, std::vector<rank_type> const& late) {
  if (!o && o.failure().kind == failure::deadline && o.failure().at_fault == late) {
    return {};
  }
  return "rank " + std::to_string(r) + ": " + (o ? "it did not fail" : o.failure().text);
}

/// One rank never does what the others do.
template <class Transport, class Act>
[[nodiscard]] std::string all_but_one(rank_type n, rank_type late, Act act) {
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) {
    world.deadline(short_deadline);
    while (world.rank() == late && !world.transport().fault()) {
      world.poll();  // until everybody else has given up
      std::this_thread::yield();
    }
    act(world);
  });
  std::string complaint;
  for (rank_type r = 0; r < n && complaint.empty(); ++r) {
    complaint = blames(results[r], r, {late});
  }
  return complaint;
}

/// One rank never calls what the others have called.
template <class Transport, class Topology>
[[nodiscard]] std::string a_late_rank(Topology topology, rank_type n, rank_type late, std::size_t count) {
  return all_but_one<Transport>(n, late, [&](auto& world) {
    tutti::allreduce sum{world, topology, tutti::sum<float>{}};
    std::vector<float> v(count, 1);
    sum(v);
  });
}

/// What is awaited waits for its turn, behind operations that are late for this rank and that nothing waits for.
template <class Transport, class Topology>
[[nodiscard]] std::string a_turn_behind_a_late_rank(Topology topology, rank_type n, rank_type late) {
  std::string const sums = all_but_one<Transport>(n, late, [&](auto& world) {
    tutti::allreduce sum{world, topology, tutti::sum<float>{}};
    std::vector<float> v(tutti::collective_lanes + 1, 1);
    std::vector<tutti::request> all;
    for (float& x : v) {
      all.push_back(sum.start(std::span(&x, 1)));
    }
    all.back().wait();
  });
  return sums + all_but_one<Transport>(n, late, [&](auto& world) {
           tutti::recv take{world};
           std::vector<int> v(2);
           rank_type const from = world.rank() == late ? (late + 1) % n : late;
           auto first = take.start(std::span(&v[0], 1), from);
           take(std::span(&v[1], 1), from);
         });
}

/// The first `members` ranks of a world receive from each other, the others from them; the calls are shown.
template <class Transport>
[[nodiscard]] std::string ranks_that_wait_for_each_other(rank_type n, rank_type members) {
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) {
    world.deadline(short_deadline);
    tutti::recv take{world};
    rank_type const me = world.rank();
    std::vector<int> v(me + 1);
    take(v, me < members ? (me + 1) % members : me - 1);
  });
  std::vector<rank_type> all;
  std::string calls;
  for (rank_type r = 0; r < members; ++r) {
    all.push_back(r);
  }
  for (rank_type r = 0; r < n; ++r) {
    if (std::string complaint = blames(results[r], r, all); !complaint.empty()) {
      return complaint;
    }
    calls += results[r].failure().text;
  }
  for (rank_type r = 0; r < members; ++r) {
    auto const call =
        "waits for rank " + std::to_string((r + 1) % members) + " in send/recv(int32 x " + std::to_string(r + 1) + ")";
    if (calls.find(call) == std::string::npos) {
      return "nobody says '" + call + "': " + calls;
    }
  }
  return {};
}

/// When a process is stopped: after so many operations, and so long into the next one.
struct moment {
  int operations = 3;
  tutti::duration later{};
};

/// A process is stopped by SIGSTOP and stays so until all others have their errors.
template <class Transport, class Topology>
[[nodiscard]] std::string a_stopped_rank(Topology topology, rank_type n, rank_type victim, std::size_t count,
                                         moment when) {
  int ends[2];
  if (::pipe(ends) != 0) {
    return "no pipe";
  }
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) {
    world.deadline(short_deadline);
    tutti::allreduce sum{world, topology, tutti::sum<float>{}};
    std::vector<float> v(count, 1);
    auto const pid = static_cast<::pid_t>(world.members()[victim].pid);
    bool const stops = world.rank() == (victim + 1) % n;
    try {
      for (int k = 0;; ++k) {
        if (stops && k == when.operations) {
          for (tutti::time_point const begin = tutti::steady_now(); tutti::steady_now() - begin < when.later;) {
          }
          ::kill(pid, SIGSTOP);
        }
        sum(v);
      }
    } catch (tutti::error const&) {
      char word = 0;
      bool told = ::write(ends[1], &word, 1) == 1;
      // A rank whose memory was being read when the reader was stopped gets its error only when that has ended.
      ::pollfd others{.fd = ends[0], .events = POLLIN, .revents = 0};
      for (rank_type left = n - 1; stops && told && left != 0; --left) {
        told = ::poll(&others, 1, 10'000) == 1 && ::read(ends[0], &word, 1) == 1;
      }
      if (stops) {
        ::kill(pid, SIGKILL);
      }
      throw;
    }
  });
  ::close(ends[0]);
  ::close(ends[1]);
  std::string complaint;
  for (rank_type r = 0; r < n && complaint.empty(); ++r) {
    complaint = r == victim ? "" : blames(results[r], r, {victim});
  }
  return complaint;
}

}  // namespace laws
