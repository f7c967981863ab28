// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of the engine. Two pinned threads sum one float: through tutti over loopback, and by hand with one
// cache line each way. The contenders alternate; medians over many rounds.
#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <pthread.h>
#include <string>
#include <vector>

namespace {

void pin(unsigned core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

/// One float and its number, handed over in one cache line.
struct alignas(64) line {
  std::atomic<std::uint64_t> number{0};
  float value;
};
line lines[2][2];

/// The minimum that two threads do to sum a float.
class manual_sum {
 public:
  explicit manual_sum(unsigned rank) : rank_(rank) {}
  void operator()(float& x) {
    ++number_;
    line& own_line = lines[rank_][number_ % 2];
    own_line.value = x;
    own_line.number.store(number_, std::memory_order_release);
    line& peer_line = lines[1 - rank_][number_ % 2];
    while (peer_line.number.load(std::memory_order_acquire) != number_) {
      tutti::detail::relax();
    }
    x += peer_line.value;
  }

 private:
  unsigned rank_;
  std::uint64_t number_ = 0;
};

constexpr int calls = 20000;
constexpr int rounds = 41;

/// Microseconds per call.
template <class Sum>
double measure(Sum& sum) {
  float x = 1;
  sum(x);  // both ranks are here
  auto const begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) {
    x = 1;
    sum(x);
  }
  double const microseconds =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / calls;
  return x == 2 ? microseconds : -1;  // a wrong result has no time
}

constexpr std::array names{"by hand", "doubling", "doubling, size 2 in the type", "butterfly", "ring"};

template <class World, class Topology>
auto engine(World& world, Topology topology) {
  return [sum = tutti::allreduce{world, topology, tutti::sum<float>{}}](float& x) mutable { sum(std::span(&x, 1)); };
}

}  // namespace

int main() {
  auto const results = tutti::detail::run_threads(2, [](auto& meet) {
    pin(meet.rank());
    tutti::communicator<tutti::loopback> world(meet);
    tutti::communicator<tutti::loopback, 2> sized_world(meet);
    manual_sum manual(meet.rank());
    auto doubling = engine(world, tutti::doubling{});
    auto doubling_of_two = engine(sized_world, tutti::doubling{});
    auto butterfly = engine(world, tutti::butterfly{});
    auto ring = engine(world, tutti::ring{});
    std::vector<double> times;  // a row per round
    for (int round = 0; round < rounds; ++round) {
      times.push_back(measure(manual));
      times.push_back(measure(doubling));
      times.push_back(measure(doubling_of_two));
      times.push_back(measure(butterfly));
      times.push_back(measure(ring));
    }
    return times;
  });

  auto const& times = results[0].value();
  std::printf("allreduce of 4 bytes, 2 pinned threads, %d x %d calls\n%-30s %8s %8s %8s  (us per call)\n", rounds,
              calls, "", "median", "best", "x hand");
  double manual_time = 0;
  for (std::size_t c = 0; c < names.size(); ++c) {
    std::vector<double> times_of_contender;
    for (std::size_t round = 0; round < rounds; ++round) {
      times_of_contender.push_back(times[round * names.size() + c]);
    }
    std::sort(times_of_contender.begin(), times_of_contender.end());
    double const median = times_of_contender[times_of_contender.size() / 2];
    manual_time = c == 0 ? median : manual_time;
    std::printf("%-30s %8.3f %8.3f %8.2f\n", names[c], median, times_of_contender.front(), median / manual_time);
    if (times_of_contender.front() < 0) {
      std::puts("a sum was wrong");
      return 1;
    }
  }
}
