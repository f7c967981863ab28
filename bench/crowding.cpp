// SPDX-License-Identifier: Apache-2.0
//
// Measures how ranks wait that share cores. See usage() below, and bench/results/waiting.md.
#include "common/clock.hpp"
#include "common/settings.hpp"
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <pthread.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::string_view usage = R"(usage: crowding [name=value...]

  what=time    allreduces of 1 KiB in a row by 1, 2, 4, 8 and 16 ranks, however few the cores are
  what=idle    the processor time of ranks that wait in an allreduce for one that does not come
  what=beside  the same allreduces while other programs compute on these cores
  what=all     all of these; the default

  transport=loopback|shared_memory|tcp   the default is all of them
  topology=star|doubling|ring            the default is star
  ranks=1,2,4,8,16                       how many ranks
  others=2                               how many programs compute in what=beside
  operations=10000 bytes=1024 rounds=3   of both; the rounds take turns, their median and their least count
)";

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct plan {
  std::string what;
  std::string transport;
  std::string topology;
  std::vector<tutti::rank_type> ranks;
  std::size_t operations;
  std::size_t count;
  std::size_t rounds;
  std::size_t others;
};

/// Processes that compute as long as this object lives.
class computing_others {
 public:
  explicit computing_others(std::size_t n) {
    for (; n > 0; --n) {
      pids_.push_back(::fork());
      if (pids_.back() == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (bool volatile forever = true; forever;) {
        }
      }
    }
  }
  computing_others(computing_others const&) = delete;
  computing_others& operator=(computing_others const&) = delete;
  ~computing_others() {
    for (pid_t const pid : pids_) {
      if (pid > 0) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
      }
    }
  }

 private:
  std::vector<pid_t> pids_;
};

/// Calls f with the topology of that name.
template <class F>
void with_topology(std::string const& name, F f) {
  name == "star" ? f(tutti::star{}) : name == "ring" ? f(tutti::ring{}) : f(tutti::doubling{});
}

/// The value that each rank returned. @throws std::runtime_error if one has failed
template <class Transport, class F>
auto on_ranks(tutti::rank_type n, F f) {
  auto ends = tutti::spawn<Transport>(n, f);
  std::vector<std::decay_t<decltype(ends[0].value())>> all;
  for (auto& end : ends) {
    all.push_back(end.value());
  }
  return all;
}

/// Microseconds per operation, on rank 0.
template <class Transport>
double time_of(plan const& p, tutti::rank_type n) {
  return on_ranks<Transport>(n, [&](auto& world) {
    double us = 0;
    with_topology(p.topology, [&](auto topology) {
      tutti::allreduce sum{world, topology, tutti::sum<float>{}};
      std::vector<float> v(p.count, 0);
      for (int i = 0; i < 100; ++i) {
        sum(v);
      }
      std::fill(v.begin(), v.end(), world.rank() == 0 ? 1.F : 0.F);
      std::int64_t const begin = bench::now();
      for (std::size_t i = 0; i < p.operations; ++i) {
        sum(v);
        if (world.rank() != 0) {
          std::fill(v.begin(), v.end(), 0.F);
        }
      }
      us = static_cast<double>(bench::now() - begin) / 1000 / static_cast<double>(p.operations);
      us = v.empty() || v.back() == (world.rank() == 0 ? 1.F : 0.F) ? us : -1;  // a wrong sum has no time
    });
    return us;
  })[0];
}

/// The clock of this rank's processor time, readable by others of its process or host.
template <class Transport>
clockid_t clock_of_this_rank() {
  clockid_t clock{};
  if (Transport::in_process) {
    ::pthread_getcpuclockid(::pthread_self(), &clock);
  } else {
    ::clock_getcpuclockid(::getpid(), &clock);
  }
  return clock;
}

constexpr std::int64_t window = 10'000'000;
constexpr int windows = 30;

/// Percent of a processor that waiting ranks use in each window, on average. Rank 0 stays out of the operation and
/// reads their clocks.
template <class Transport>
std::vector<double> idle(plan const& p, tutti::rank_type n) {
  return on_ranks<Transport>(n, [&](auto& world) {
    std::vector<clockid_t> clocks(n);
    clockid_t const mine = clock_of_this_rank<Transport>();
    tutti::allgather{world, tutti::ring{}}(std::span(&mine, 1), clocks);
    std::vector<double> percent;
    with_topology(p.topology, [&](auto topology) {
      tutti::allreduce sum{world, topology, tutti::sum<float>{}};
      std::vector<float> v(p.count, 0);
      for (int i = 0; i < 1000; ++i) {
        sum(v);
      }
      if (world.rank() == 0) {
        auto const used = [&] {
          std::int64_t all = 0;
          for (tutti::rank_type r = 1; r < n; ++r) {
            all += bench::read(clocks[r]);
          }
          return all;
        };
        std::int64_t then = bench::now();
        std::int64_t before = used();
        for (int i = 0; i < windows; ++i) {
          std::this_thread::sleep_for(
              std::chrono::nanoseconds(std::max<std::int64_t>(then + window - bench::now(), 0)));
          std::int64_t const now = bench::now();
          std::int64_t const by_now = used();
          percent.push_back(100 * static_cast<double>(by_now - before) / static_cast<double>(now - then) / (n - 1));
          then = now;
          before = by_now;
        }
      }
      sum(v);
    });
    return percent;
  })[0];
}

/// Calls f<Transport>() for each selected transport.
template <class F>
void each_transport(plan const& p, F f) {
  auto const one = [&]<class Transport>() {
    if (p.transport == "all" || p.transport == Transport::name) {
      f.template operator()<Transport>();
    }
  };
  one.template operator()<tutti::loopback>();
  one.template operator()<tutti::shared_memory>();
  one.template operator()<tutti::tcp>();
}

void report_times(plan const& p) {
  struct row {
    std::string_view transport;
    tutti::rank_type ranks;
    std::vector<double> us = {};
  };
  std::vector<row> rows;
  for (std::size_t round = 0; round < p.rounds; ++round) {
    std::size_t at = 0;
    each_transport(p, [&]<class Transport>() {
      for (tutti::rank_type const n : p.ranks) {
        if (round == 0) {
          rows.push_back({Transport::name, n});
        }
        rows[at++].us.push_back(time_of<Transport>(p, n));
      }
    });
  }
  std::printf(
      "\nallreduce of %zu bytes over %s, %u cores, %zu x %zu operations, us per operation\n%-14s %5s %9s %9s %14s\n",
      p.count * sizeof(float), p.topology.c_str(), std::thread::hardware_concurrency(), p.rounds, p.operations, "",
      "ranks", "median", "least", "median / ranks");
  for (row const& r : rows) {
    double const middle = median(r.us);
    std::printf("%-14s %5u %9.2f %9.2f %14.3f\n", r.transport.data(), r.ranks, middle,
                *std::min_element(r.us.begin(), r.us.end()), middle / r.ranks);
    if (*std::min_element(r.us.begin(), r.us.end()) < 0) {
      throw std::runtime_error("a sum was wrong");
    }
  }
}

void report_idleness(plan const& p) {
  std::printf("\n%% of a core that a waiting rank uses, ms after the last operation\n%-14s %5s", "", "ranks");
  constexpr int shown[] = {0, 1, 2, 3, 4, 9};
  for (int const i : shown) {
    std::printf(" %4d-%-3d", i * 10, i * 10 + 10);
  }
  std::printf("  100-300  most there\n");
  each_transport(p, [&]<class Transport>() {
    for (tutti::rank_type const n : p.ranks) {
      if (n == 1) {
        continue;
      }
      std::vector<double> const percent = idle<Transport>(p, n);
      std::printf("%-14s %5u", Transport::name.data(), n);
      for (int const i : shown) {
        std::printf(" %8.2f", percent[static_cast<std::size_t>(i)]);
      }
      double sum = 0;
      for (std::size_t i = 10; i < percent.size(); ++i) {
        sum += percent[i];
      }
      std::printf(" %8.2f %11.2f\n", sum / (windows - 10), *std::max_element(percent.begin() + 10, percent.end()));
    }
  });
}

plan read(bench::settings const& s) {
  plan p{.what = std::string(s.one_of("what", {"all", "time", "idle", "beside"})),
         .transport = std::string(s.one_of("transport", {"all", "loopback", "shared_memory", "tcp"})),
         .topology = std::string(s.one_of("topology", {"star", "doubling", "ring"})),
         .ranks = {},
         .operations = s.number("operations", 10000),
         .count = s.number("bytes", 1024) / sizeof(float),
         .rounds = std::max<std::size_t>(s.number("rounds", 3), 1),
         .others = s.number("others", 2)};
  std::istringstream ranks(s.text("ranks", "1,2,4,8,16"));
  for (std::string one; std::getline(ranks, one, ',');) {
    p.ranks.push_back(static_cast<tutti::rank_type>(bench::settings("n=" + one).number("n", 1)));
    if (p.ranks.back() == 0) {
      throw std::runtime_error("a world has at least one rank");
    }
  }
  return p;
}

}  // namespace

int main(int argc, char** argv) try {
  bench::settings given;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      std::fputs(usage.data(), stdout);
      return 0;
    }
    given.add(argv[i]);
  }
  plan const p = read(given);
  if (p.what == "all" || p.what == "time") {
    report_times(p);
  }
  if (p.what == "all" || p.what == "beside") {
    computing_others const others(p.others);
    std::printf("\nbeside %zu programs that compute:", p.others);
    report_times(p);
  }
  if (p.what == "all" || p.what == "idle") {
    report_idleness(p);
  }
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n%s", e.what(), usage.data());
  return 1;
}
