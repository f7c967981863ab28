// SPDX-License-Identifier: Apache-2.0
//
// What does tutti::automatic expect, and what is true? All schedules and segments that it may pick, for a grid of
// sizes, predicted and measured; see docs/performance.md.
//
// Each round measures the world anew and then each way for some milliseconds, so that what slows the machine down
// slows both; figures are medians of the rounds, or the least. Floats, in place.
#include "common/serve.hpp"
#include "common/settings.hpp"
#include <tutti/automatic.hpp>
#include <tutti/join.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr char const* usage =
    R"(predictions [transport=shared_memory|loopback|tcp|joined] [ranks=2] [op=allreduce|broadcast]
            [rounds=5] [longest=16777216] [milliseconds=1] [of=median|least] [details=no|yes]

What tutti::automatic expects of each schedule and segment size, and what is true.
joined: TCP, in the world of the launcher that started this process.)";

/// What stands for the rounds.
enum class statistic { median, least };

double of(std::vector<double> v, statistic which) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : which == statistic::least ? v.front() : (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

/// Microseconds of one way on one size, round by round.
struct way_times {
  std::vector<double> expected;
  std::vector<double> measured;
};
using way = std::pair<tutti::schedule_kind, std::size_t>;
using grid = std::map<std::size_t, std::map<way, way_times>>;

std::string in_words(way const& w, tutti::host_map const& hosts) {
  return tutti::explanation::in_words(tutti::course<tutti::selection>{tutti::selection(w.first, &hosts), w.second});
}

/// Measures ways on one rank of a world.
template <class World>
class measurer {
 public:
  measurer(World& world, bench::settings const& s)
      : world_(world),
        reduces_(s.one_of("op", {"allreduce", "broadcast"}) == "allreduce"),
        longest_(s.number("longest", std::size_t{16} << 20)),
        microseconds_(1000 * static_cast<double>(s.number("milliseconds", 1))),
        barrier_(world, tutti::doubling{}),
        slowest_(world, tutti::doubling{}, tutti::max<double>{}),
        data_(longest_ / sizeof(float)) {}

  /// What the last round has measured of the world.
  [[nodiscard]] std::string const& profile() const noexcept { return profile_; }

  void round(grid& all, std::vector<double>& took) {
    auto const begin = tutti::steady_now();
    tutti::automatic const best(world_);
    took.push_back(agreed(since(begin)));
    profile_ = tutti::to_text(best.profile());
    for (std::size_t bytes = 4; bytes <= longest_; bytes *= 4) {
      for (tutti::prediction const& p :
           reduces_ ? best.predict(tutti::op::allreduce{}, bytes) : best.predict(tutti::op::broadcast{0}, bytes)) {
        auto const expected = static_cast<double>(p.time) * 1e-6;
        way_times& t = all[bytes][{p.way.topology.kind(), p.way.segment_bytes}];
        t.expected.push_back(expected);
        t.measured.push_back(measure(p, bytes, expected));
      }
    }
  }

 private:
  [[nodiscard]] static double since(tutti::time_point begin) {
    return static_cast<double>((tutti::steady_now() - begin).count()) * 1e-3;
  }
  double agreed(double us) {
    std::vector<double> one{us};
    slowest_(one);
    return one[0];
  }

  double measure(tutti::prediction const& p, std::size_t bytes, double expected) {
    std::span<float> const v(data_.data(), bytes / sizeof(float));
    auto const times = static_cast<int>(std::clamp(microseconds_ / std::max(expected, 0.1), 1.0, 2000.0));
    if (reduces_) {
      tutti::allreduce sum{world_, p.way.topology, tutti::sum<float>{}};
      sum.segment(p.way.segment_bytes);
      return loop(times, [&] { sum(v); });
    }
    // The root writes its vector anew each time, as programs do; back to back it would run ahead.
    tutti::broadcast share{world_, p.way.topology};
    share.segment(p.way.segment_bytes);
    double took = 0;
    for (int i = -8; i < times; ++i) {
      if (world_.rank() == 0) {
        std::fill(v.begin(), v.end(), static_cast<float>(i));
      }
      barrier_();
      world_.patience() = {};
      auto const begin = tutti::steady_now();
      share(v, 0);
      took += i < 0 ? 0 : since(begin);
    }
    return agreed(took / times);
  }

  template <class F>
  double loop(int times, F const& f) {
    for (int i = 0; i < 8; ++i) {  // the memory of every lane
      f();
    }
    barrier_();
    world_.patience() = {};  // as `automatic` measures: as if nobody else computed here
    auto const begin = tutti::steady_now();
    for (int i = 0; i < times; ++i) {
      f();
    }
    return agreed(since(begin) / times);
  }

  World& world_;
  bool reduces_;
  std::size_t longest_;
  double microseconds_;
  tutti::barrier<World, tutti::doubling> barrier_;
  tutti::allreduce<World, tutti::doubling, tutti::max<double>> slowest_;
  std::vector<float> data_;
  std::string profile_{};
};

void report(grid const& all, std::vector<double> const& took, tutti::host_map const& hosts, bool details,
            statistic which) {
  double error = 0;
  double pick_error = 0;
  double log_error = 0;
  std::size_t ways = 0;
  std::size_t good = 0;
  std::printf("%9s  %-34s %10s %10s  %-34s %10s %6s\n", "bytes", "picked", "expected", "measured", "best", "measured",
              "ratio");
  for (auto const& [bytes, row] : all) {
    way pick{};
    way best{};
    double least_expected = INFINITY;
    double least = INFINITY;
    for (auto const& [w, t] : row) {
      double const expected = of(t.expected, which);
      double const measured = of(t.measured, which);
      error += std::abs(expected - measured) / measured;
      log_error += std::abs(std::log(expected / measured));
      ++ways;
      if (expected < least_expected) {
        least_expected = expected;
        pick = w;
      }
      if (measured < least) {
        least = measured;
        best = w;
      }
      if (details) {
        std::printf("%9zu    %-32s %10.2f %10.2f\n", bytes, in_words(w, hosts).c_str(), expected, measured);
      }
    }
    double const picked = of(row.at(pick).measured, which);
    good += picked <= 1.1 * least ? 1U : 0U;
    pick_error += std::abs(least_expected - picked) / picked;
    std::printf("%9zu  %-34s %10.2f %10.2f  %-34s %10.2f %6.2f\n", bytes, in_words(pick, hosts).c_str(), least_expected,
                picked, in_words(best, hosts).c_str(), least, picked / least);
  }
  std::printf(
      "mean error of %zu predictions %.0f %% (geometric: %.2f x), of the picks %.0f %%; pick within "
      "10 %% of the best for %zu of %zu sizes; measuring the world took %.1f ms\n",
      ways, 100 * error / static_cast<double>(ways), std::exp(log_error / static_cast<double>(ways)),
      100 * pick_error / static_cast<double>(all.size()), good, all.size(), of(took, statistic::median) * 1e-3);
}

template <class World>
void run(World& world, bench::settings const& s) {
  grid all;
  std::vector<double> took;
  measurer<World> m(world, s);
  for (std::size_t r = 0; r < s.number("rounds", 5); ++r) {
    m.round(all, took);
  }
  if (world.rank() == 0) {
    std::printf("%s of floats, %u ranks, %s\n", s.text("op", "allreduce").c_str(), world.size(),
                World::transport_type::name.data());
    bool const details = s.one_of("details", {"no", "yes"}) == "yes";
    if (details) {
      std::fputs(m.profile().c_str(), stdout);
    }
    report(all, took, world.hosts(), details,
           s.one_of("of", {"median", "least"}) == "least" ? statistic::least : statistic::median);
    std::fflush(stdout);
  }
}

template <class Transport>
void spawn(bench::settings const& s) {
  for (auto const& end : tutti::spawn<Transport>(static_cast<tutti::rank_type>(s.number("ranks", 2)), [&](auto& world) {
         bench::pin(world.rank(), world.size());
         run(world, s);
       })) {
    end.value();
  }
}

}  // namespace

int main(int argc, char** argv) try {
  bench::settings s;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      std::puts(usage);
      return 0;
    }
    s.add(argv[i]);
  }
  auto const transport = s.one_of("transport", {"shared_memory", "loopback", "tcp", "joined"});
  if (transport == "joined") {
    auto world = tutti::join<tutti::tcp>();
    run(world, s);
  } else if (transport == "tcp") {
    spawn<tutti::tcp>(s);
  } else if (transport == "loopback") {
    spawn<tutti::loopback>(s);
  } else {
    spawn<tutti::shared_memory>(s);
  }
} catch (std::exception const& e) {
  std::fprintf(stderr, "predictions: %s\n", e.what());
  return 1;
}
