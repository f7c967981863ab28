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
class by_hand {
 public:
  explicit by_hand(unsigned rank) : rank_(rank) {}
  void operator()(float& x) {
    ++number_;
    line& out = lines[rank_][number_ % 2];
    out.value = x;
    out.number.store(number_, std::memory_order_release);
    line& in = lines[1 - rank_][number_ % 2];
    while (in.number.load(std::memory_order_acquire) != number_) {
      tutti::detail::relax();
    }
    x += in.value;
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
  double const us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / calls;
  return x == 2 ? us : -1;  // a wrong result has no time
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
    tutti::communicator<tutti::loopback, 2> fixed(meet);
    by_hand hand(meet.rank());
    auto doubling = engine(world, tutti::doubling{});
    auto doubling_of_two = engine(fixed, tutti::doubling{});
    auto butterfly = engine(world, tutti::butterfly{});
    auto ring = engine(world, tutti::ring{});
    std::vector<double> times;  // a row per round
    for (int round = 0; round < rounds; ++round) {
      times.push_back(measure(hand));
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
  double hand = 0;
  for (std::size_t c = 0; c < names.size(); ++c) {
    std::vector<double> mine;
    for (std::size_t round = 0; round < rounds; ++round) {
      mine.push_back(times[round * names.size() + c]);
    }
    std::sort(mine.begin(), mine.end());
    double const median = mine[mine.size() / 2];
    hand = c == 0 ? median : hand;
    std::printf("%-30s %8.3f %8.3f %8.2f\n", names[c], median, mine.front(), median / hand);
    if (mine.front() < 0) {
      std::puts("a sum was wrong");
      return 1;
    }
  }
}
