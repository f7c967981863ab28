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
  std::string measurement;
  std::string transport;
  std::string topology;
  std::vector<tutti::rank_type> ranks;
  std::size_t operations;
  std::size_t count;
  std::size_t rounds;
  std::size_t competitors;
};

/// Processes that compute as long as this object lives.
class background_load {
 public:
  explicit background_load(std::size_t count) {
    for (; count > 0; --count) {
      pids_.push_back(::fork());
      if (pids_.back() == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (bool volatile forever = true; forever;) {
        }
      }
    }
  }
  background_load(background_load const&) = delete;
  background_load& operator=(background_load const&) = delete;
  ~background_load() {
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
void call_with_topology(std::string const& name, F f) {
  name == "star" ? f(tutti::star{}) : name == "ring" ? f(tutti::ring{}) : f(tutti::doubling{});
}

/// The value that each rank returned. @throws std::runtime_error if one has failed
template <class Transport, class F>
auto spawn_ranks(tutti::rank_type n, F f) {
  auto ends = tutti::spawn<Transport>(n, f);
  std::vector<std::decay_t<decltype(ends[0].value())>> results;
  for (auto& end : ends) {
    results.push_back(end.value());
  }
  return results;
}

/// Microseconds per operation, on rank 0.
template <class Transport>
double time_of(plan const& p, tutti::rank_type n) {
  return spawn_ranks<Transport>(n, [&](auto& world) {
    double microseconds = 0;
    call_with_topology(p.topology, [&](auto topology) {
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
      microseconds = static_cast<double>(bench::now() - begin) / 1000 / static_cast<double>(p.operations);
      microseconds =
          v.empty() || v.back() == (world.rank() == 0 ? 1.F : 0.F) ? microseconds : -1;  // a wrong sum has no time
    });
    return microseconds;
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
std::vector<double> idle_percentages(plan const& p, tutti::rank_type n) {
  return spawn_ranks<Transport>(n, [&](auto& world) {
    std::vector<clockid_t> clocks(n);
    clockid_t const own_clock = clock_of_this_rank<Transport>();
    tutti::allgather{world, tutti::ring{}}(std::span(&own_clock, 1), clocks);
    std::vector<double> percent;
    call_with_topology(p.topology, [&](auto topology) {
      tutti::allreduce sum{world, topology, tutti::sum<float>{}};
      std::vector<float> v(p.count, 0);
      for (int i = 0; i < 1000; ++i) {
        sum(v);
      }
      if (world.rank() == 0) {
        auto const processor_time = [&] {
          std::int64_t total = 0;
          for (tutti::rank_type r = 1; r < n; ++r) {
            total += bench::read(clocks[r]);
          }
          return total;
        };
        std::int64_t previous_time = bench::now();
        std::int64_t previous_usage = processor_time();
        for (int i = 0; i < windows; ++i) {
          std::this_thread::sleep_for(
              std::chrono::nanoseconds(std::max<std::int64_t>(previous_time + window - bench::now(), 0)));
          std::int64_t const current_time = bench::now();
          std::int64_t const current_usage = processor_time();
          percent.push_back(100 * static_cast<double>(current_usage - previous_usage) /
                            static_cast<double>(current_time - previous_time) / (n - 1));
          previous_time = current_time;
          previous_usage = current_usage;
        }
      }
      sum(v);
    });
    return percent;
  })[0];
}

/// Calls f<Transport>() for each selected transport.
template <class F>
void for_each_transport(plan const& p, F f) {
  auto const visit = [&]<class Transport>() {
    if (p.transport == "all" || p.transport == Transport::name) {
      f.template operator()<Transport>();
    }
  };
  visit.template operator()<tutti::loopback>();
  visit.template operator()<tutti::shared_memory>();
  visit.template operator()<tutti::tcp>();
}

void report_times(plan const& p) {
  struct row {
    std::string_view transport;
    tutti::rank_type ranks;
    std::vector<double> microseconds = {};
  };
  std::vector<row> rows;
  for (std::size_t round = 0; round < p.rounds; ++round) {
    std::size_t next_row = 0;
    for_each_transport(p, [&]<class Transport>() {
      for (tutti::rank_type const n : p.ranks) {
        if (round == 0) {
          rows.push_back({Transport::name, n});
        }
        rows[next_row++].microseconds.push_back(time_of<Transport>(p, n));
      }
    });
  }
  std::printf(
      "\nallreduce of %zu bytes over %s, %u cores, %zu x %zu operations, us per operation\n%-14s %5s %9s %9s %14s\n",
      p.count * sizeof(float), p.topology.c_str(), std::thread::hardware_concurrency(), p.rounds, p.operations, "",
      "ranks", "median", "least", "median / ranks");
  for (row const& r : rows) {
    double const median_time = median(r.microseconds);
    std::printf("%-14s %5u %9.2f %9.2f %14.3f\n", r.transport.data(), r.ranks, median_time,
                *std::min_element(r.microseconds.begin(), r.microseconds.end()), median_time / r.ranks);
    if (*std::min_element(r.microseconds.begin(), r.microseconds.end()) < 0) {
      throw std::runtime_error("a sum was wrong");
    }
  }
}

void report_idleness(plan const& p) {
  std::printf("\n%% of a core that a waiting rank uses, ms after the last operation\n%-14s %5s", "", "ranks");
  constexpr int windows_in_table[] = {0, 1, 2, 3, 4, 9};
  for (int const i : windows_in_table) {
    std::printf(" %4d-%-3d", i * 10, i * 10 + 10);
  }
  std::printf("  100-300  most there\n");
  for_each_transport(p, [&]<class Transport>() {
    for (tutti::rank_type const n : p.ranks) {
      if (n == 1) {
        continue;
      }
      std::vector<double> const percent = idle_percentages<Transport>(p, n);
      std::printf("%-14s %5u", Transport::name.data(), n);
      for (int const i : windows_in_table) {
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
  plan p{.measurement = std::string(s.one_of("what", {"all", "time", "idle", "beside"})),
         .transport = std::string(s.one_of("transport", {"all", "loopback", "shared_memory", "tcp"})),
         .topology = std::string(s.one_of("topology", {"star", "doubling", "ring"})),
         .ranks = {},
         .operations = s.number("operations", 10000),
         .count = s.number("bytes", 1024) / sizeof(float),
         .rounds = std::max<std::size_t>(s.number("rounds", 3), 1),
         .competitors = s.number("others", 2)};
  std::istringstream ranks(s.text("ranks", "1,2,4,8,16"));
  for (std::string word; std::getline(ranks, word, ',');) {
    p.ranks.push_back(static_cast<tutti::rank_type>(bench::settings("n=" + word).number("n", 1)));
    if (p.ranks.back() == 0) {
      throw std::runtime_error("a world has at least one rank");
    }
  }
  return p;
}

}  // namespace

int main(int argc, char** argv) try {
  bench::settings settings;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      std::fputs(usage.data(), stdout);
      return 0;
    }
    settings.add(argv[i]);
  }
  plan const p = read(settings);
  if (p.measurement == "all" || p.measurement == "time") {
    report_times(p);
  }
  if (p.measurement == "all" || p.measurement == "beside") {
    background_load const load(p.competitors);
    std::printf("\nbeside %zu programs that compute:", p.competitors);
    report_times(p);
  }
  if (p.measurement == "all" || p.measurement == "idle") {
    report_idleness(p);
  }
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n%s", e.what(), usage.data());
  return 1;
}
