// SPDX-License-Identifier: Apache-2.0
//
// Measures the gain of a topology in the type. Two pinned threads sum vectors of floats over loopback: with the
// topology compiled in, with the number of ranks in the type as well, with the schedule as a plan, one type for all
// topologies that are chosen at run time, and with element type and reduction known at run time. They take turns;
// medians, and medians of ratios within a round. For the cost at compile time see bench/compile.
//
//   specialisation [rounds=41] [milliseconds=1]
#include "common/clock.hpp"
#include "common/settings.hpp"
#include <tutti/any_element.hpp>
#include <tutti/any_reduction.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/planned.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <pthread.h>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::array<std::size_t, 6> sizes{4, 64, 1024, 4096, 16384, 65536};

/// Nanoseconds of one operation by each of the four, a value per round.
struct times {
  std::string_view topology;
  std::size_t bytes;
  std::vector<double> compiled_times{};
  std::vector<double> sized_times{};
  std::vector<double> planned_times{};
  std::vector<double> named_times{};
};

void pin(unsigned core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core % std::max(std::thread::hardware_concurrency(), 1U), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

double median_of_ratios(std::vector<double> const& a, std::vector<double> const& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ratios.push_back(a[i] / b[i]);
  }
  return median(std::move(ratios));
}

/// Nanoseconds per call, in a row of calls. Not inlined, so that the contenders' loops differ only in the call.
template <class Sum>
[[gnu::noinline]] double measure(Sum& sum, std::span<float> v, std::size_t calls) {
  sum(v);  // both ranks are here
  std::int64_t const begin = bench::now();
  for (std::size_t i = 0; i < calls; ++i) {
    sum(v);
  }
  return static_cast<double>(bench::now() - begin) / static_cast<double>(calls);
}

template <class Topology, class World, class SizedWorld>
void compare(World& world, SizedWorld& sized_world, bench::settings const& s, std::vector<times>& rows) {
  tutti::sum<float> const add;
  tutti::plan<false> const steps(Topology{}, tutti::op::allreduce{}, world.size(), world.rank());
  tutti::allreduce compiled_sum{world, Topology{}, add};
  tutti::allreduce sized_sum{sized_world, Topology{}, add};
  tutti::allreduce planned_sum{world, steps.view(), add};
  tutti::allreduce any_sum{world, Topology{}, tutti::any_reduction("sum", tutti::any_element("float32"))};
  auto const named_sum = [&any_sum](std::span<float> v) { any_sum(v.data(), v.size()); };
  for (std::size_t const bytes : sizes) {
    std::vector<float> v(bytes / sizeof(float));
    std::size_t const calls = s.number("milliseconds", 1) * 1'000'000 / (150 + bytes / 8);
    times t{Topology::name, bytes};
    for (std::size_t round = 0; round < s.number("rounds", 41); ++round) {
      for (std::size_t turn = round; turn < round + 4; ++turn) {  // another contender begins each turn
        turn % 4 == 0   ? t.compiled_times.push_back(measure(compiled_sum, v, calls))
        : turn % 4 == 1 ? t.sized_times.push_back(measure(sized_sum, v, calls))
        : turn % 4 == 2 ? t.planned_times.push_back(measure(planned_sum, v, calls))
                        : t.named_times.push_back(measure(named_sum, v, calls));
      }
    }
    rows.push_back(std::move(t));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  bench::settings s;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      std::puts(
          "usage: specialisation [rounds=41] [milliseconds=1]\n\nTopologies compiled in, the same as plans, and a sum "
          "by its name.");
      return 0;
    }
    s.add(argv[i]);
  }
  auto const results = tutti::detail::run_threads(2, [&](auto& meet) {
    pin(meet.rank());
    tutti::communicator<tutti::loopback> world(meet);
    tutti::communicator<tutti::loopback, 2> sized_world(meet);
    std::vector<times> rows;
    compare<tutti::doubling>(world, sized_world, s, rows);
    compare<tutti::butterfly>(world, sized_world, s, rows);
    compare<tutti::ring>(world, sized_world, s, rows);
    compare<tutti::binary_tree>(world, sized_world, s, rows);
    compare<tutti::star>(world, sized_world, s, rows);
    return rows;
  });
  std::printf("%-12s %7s %12s %12s %12s %12s %16s %16s %16s\n", "", "bytes", "compiled in", "size, too", "plan",
              "named", "plan / compiled", "size / compiled", "named / compiled");
  for (times const& t : results[0].value()) {
    std::printf("%-12s %7zu %9.0f ns %9.0f ns %9.0f ns %9.0f ns %16.2f %16.2f %16.2f\n", t.topology.data(), t.bytes,
                median(t.compiled_times), median(t.sized_times), median(t.planned_times), median(t.named_times),
                median_of_ratios(t.planned_times, t.compiled_times), median_of_ratios(t.sized_times, t.compiled_times),
                median_of_ratios(t.named_times, t.compiled_times));
  }
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
