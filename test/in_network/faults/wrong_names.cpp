// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (processes are killed, stopped or unknown peers)
//
// Ranks over TCP, and over what stands on it, are killed while others are frozen and cannot hear of it: survivors
// leave, their connections are reset, and a rank that thaws must name the rank that was killed, and no other one.
#include <faults/board.hpp>
#include <faults/trials.hpp>
#include <support/switch_process.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/in_network/fpga_nic.hpp>
#include <tutti/in_network/udp_multicast.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <algorithm>
#include <concepts>
#include <csignal>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace {

using namespace tutti;
using namespace tutti::detail;
using namespace std::chrono_literals;

using faults::board;
using faults::max_ranks;

/// The transport of the ranks. `served`: rank 0 serves in place of a device.
enum class transport_kind { tcp, served, device, multicast };

struct plan {
  transport_kind transport = transport_kind::tcp;
  rank_type ranks = 0;
  rank_type victim = 0;
  rank_type frozen_rank = 0;
  int topology = 0;
  bool includes_first_operation = false;  ///< the first operation, too, may be hit: its connections are being made
  bool never_begins = false;              ///< the victim, which waits for its end
  std::chrono::microseconds delay{};
  std::chrono::microseconds freeze_lead{};  ///< from the freeze of another rank to the kill
  std::chrono::milliseconds thaw_delay{};   ///< from the kill to the thaw; 0: no rank is frozen
  std::size_t count = 0;
};

using nic = tutti::fpga_nic<tutti::tcp>;

[[nodiscard]] tcp_options& host_options(tcp_options& o) {
  return o;
}
template <class Options>
[[nodiscard]] tcp_options& host_options(Options& o) {
  return o.host;
}

[[nodiscard]] plan plan_of(std::uint64_t seed) {
  std::mt19937_64 dice(seed * 0x9E3779B97F4A7C15ULL);
  plan p;
  p.ranks = 3 + static_cast<rank_type>(dice() % (max_ranks - 2));
  p.victim = static_cast<rank_type>(dice() % p.ranks);
  p.frozen_rank = static_cast<rank_type>((p.victim + 1 + dice() % (p.ranks - 1)) % p.ranks);
  p.topology = static_cast<int>(dice() % 4);
  p.includes_first_operation = dice() % 4 == 0;
  p.delay = std::chrono::microseconds(dice() % (p.includes_first_operation ? 3'000 : 30'000));
  p.freeze_lead = std::chrono::microseconds(dice() % 20'000);
  p.thaw_delay = std::chrono::milliseconds(dice() % 8 == 0 ? 0 : 60 + dice() % 60);
  p.count = std::size_t{1} << (dice() % 4 == 0 ? dice() % 18 : 18 + dice() % 4);  // mostly megabytes
  if (dice() % 2 == 0) {
    p.transport = static_cast<transport_kind>(1 + dice() % 3);
    p.count = 1 + p.count / 32;  // packets of 1 KiB
    p.never_begins = dice() % 2 == 0;
    p.includes_first_operation = p.includes_first_operation || p.never_begins;
    if (p.never_begins && dice() % 2 == 0) {  // rank 0 serves the others
      p.victim = 0;
      p.frozen_rank = p.frozen_rank == 0 ? 1 : p.frozen_rank;
    }
  }
  return p;
}

/// Works until the world fails: the ranks that this rank names then, or what else went wrong.
template <class Transport>
[[nodiscard]] std::string work(process_rendezvous& meet, plan const& p, board& state, std::string const& device) {
  std::string outcome;
  try {
    world_options<Transport> o;
    o.deadline = 10s;
    host_options(o.transport).linger = 50ms;  // shorter than thaw_delay
    if constexpr (std::same_as<Transport, nic>) {
      o.transport.network.device = device;
    }
    tutti::communicator<Transport> world(meet, o);
    state.pid[world.rank()] = ::getpid();
    while (p.never_begins && world.rank() == p.victim) {
      ::pause();
    }
    auto const broadcasts = [&] {
      broadcast share{world, in_network{}};
      for (int k = 0;; ++k) {
        ++state.operations[world.rank()];
        rank_type const root = static_cast<rank_type>(k) % world.size();
        std::vector<int> v(p.count, world.rank() == root ? k : -1);
        share(v, root);
        if (std::ranges::count(v, k) != static_cast<std::ptrdiff_t>(v.size())) {
          outcome = std::string(faults::wrong_number) + "a wrong broadcast";
          return;
        }
      }
    };
    auto const sums = [&](auto const& topology) {
      allreduce sum{world, topology, tutti::sum<int>{}};
      for (int k = 0;; ++k) {
        ++state.operations[world.rank()];
        std::vector<int> v(p.count, k + static_cast<int>(world.rank()));
        sum(v);
        int const n = static_cast<int>(world.size());
        for (int const x : v) {
          if (x != n * k + n * (n - 1) / 2) {
            outcome = std::string(faults::wrong_number) + "a wrong sum";
            return;
          }
        }
      }
    };
    try {
      if (p.transport != transport_kind::tcp) {
        broadcasts();
      } else {
        p.topology == 0 ? sums(ring{}) : p.topology == 1 ? sums(doubling{}) : sums(direct{});
      }
    } catch (error const& e) {
      outcome = e.kind() == failure::peer_lost ? list_ranks(e.at_fault()) : e.what();
      throw;  // leaving while an exception flies is leaving
    }
  } catch (error const& e) {
    outcome = outcome.empty() ? e.what() : outcome;
  }
  return outcome;
}

/// Kills and freezes as planned; false: the world was over before.
bool strike(plan const& p, board& state) {
  auto const is_under_way = [&] {
    for (rank_type r = 0; r < p.ranks; ++r) {
      if (state.pid[r] == 0 || (!p.includes_first_operation && state.operations[r] < 2)) {
        return false;
      }
    }
    return true;
  };
  while (!is_under_way() && !state.is_over) {
    std::this_thread::yield();
  }
  time_point const kill_time = steady_now() + p.delay;
  while (steady_now() < kill_time) {
    std::this_thread::yield();
  }
  if (state.is_over) {
    return false;
  }
  if (p.thaw_delay > 0ms) {
    ::kill(state.pid[p.frozen_rank], SIGSTOP);
    std::this_thread::sleep_for(p.freeze_lead);  // its connections fill
  }
  ::kill(state.pid[p.victim], SIGKILL);
  if (p.thaw_delay > 0ms) {
    std::this_thread::sleep_for(p.thaw_delay);  // the trial itself: the survivors leave meanwhile
    ::kill(state.pid[p.frozen_rank], SIGCONT);
  }
  return true;
}

[[nodiscard]] support::verdict trial(std::uint64_t seed) {
  plan const p = plan_of(seed);
  faults::shared_board const page;
  board& state = *page;
  std::optional<support::switch_process> device;
  if (p.transport == transport_kind::device) {
    device.emplace();
  }
  std::string const address = device ? device->address() : "";
  pid_t const killer = ::fork();
  if (killer == 0) {
    ::_exit(strike(p, state) ? 0 : 1);
  }
  auto const ends = run_processes(
      p.ranks,
      [&](process_rendezvous& meet) {
        return p.transport == transport_kind::tcp         ? work<tutti::tcp>(meet, p, state, address)
               : p.transport == transport_kind::multicast ? work<udp_multicast<tutti::tcp>>(meet, p, state, address)
                                                          : work<nic>(meet, p, state, address);
      },
      20s);
  state.is_over = true;
  int status = 0;
  ::waitpid(killer, &status, 0);

  constexpr char const* names[] = {"tcp", "rank 0 in place of a device", "a device", "a group"};
  support::verdict complaints = status == 0 ? "" : "the ranks ended before anything was done to them; ";
  for (rank_type r = 0; r < p.ranks; ++r) {
    if (r == p.victim) {
      continue;
    }
    std::string const report = ends[r].has_value() ? ends[r].value() : ends[r].failure().text;
    if (report != list_ranks({p.victim})) {
      complaints += std::string(faults::wrong_name) + "rank " + std::to_string(r) + " of " + std::to_string(p.ranks) +
                    " says '" + report + "', killed was rank " + std::to_string(p.victim) + " over " +
                    names[static_cast<int>(p.transport)] +
                    (p.thaw_delay > 0ms ? ", frozen rank " + std::to_string(p.frozen_rank) : "") + "; ";
    }
  }
  return complaints;
}

}  // namespace

int main(int argc, char** argv) {
  return tutti::faults::run_trials(argc, argv, "ranks are killed while others are frozen", 40,
                                   "killed while others are frozen", trial);
}
