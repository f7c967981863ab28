// SPDX-License-Identifier: Apache-2.0
//
// Compares the predictions of tutti::automatic with measurements, for all schedules and segments that it may pick and
// for a grid of sizes; see docs/guide/automatic.md.
//
// Each round measures the world again and then, size by size, runs each way for some milliseconds in each of several
// passes, so that a slow machine slows both. Floats, in place.
//
// The minimum of many noisy figures is too small, and anything compared with it looks too bad. So figures are dealt
// into two halves: the best way of one half, and the picks, are judged by the medians of the other half. *Now*, the
// halves are passes of one round, right after the world was measured. *Later*, they are every second round, so that a
// pick is also judged after the machine has changed.
//
// A pick with hindsight shows the error of the judgement itself: the best way of all other rounds.
//
// Among few ranks several topologies have the same steps. They count as one way, whichever of them was picked.
//
// The error has three parts. The machine's: a single pass, or a round, disagrees with the passes or rounds beside it,
// because the machine has changed in between. The meter's: one round's prediction differs from the median of all,
// because a few milliseconds of measuring saw too little. The model's: the medians of all predictions and of all
// measurements differ.
#include "common/serve.hpp"
#include "common/settings.hpp"
#include <tutti/allocator.hpp>
#include <tutti/automatic.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/join.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/tutti.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
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
            [rounds=8] [passes=6] [longest=16777216] [milliseconds=1] [buffers=ordinary|allocator]
            [autotune=no|yes] [details=no|yes]

What tutti::automatic expects of each schedule and segment size, and what is true. Rounds and passes: even numbers.
autotune: what is picked is what autotune finds, for each size.
joined: TCP, in the world of the launcher that started this process.)";

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

/// Microseconds of one way on one size.
struct way_times {
  std::vector<double> expected{};                   ///< a prediction per round
  std::vector<std::vector<double>> measurements{};  ///< passes of each round

  /// Median of the passes of one round, all or every second one.
  [[nodiscard]] double median_of_round(std::size_t round) const { return median(measurements[round]); }
  [[nodiscard]] double median_of_round(std::size_t round, std::size_t half) const {
    std::vector<double> v;
    for (std::size_t p = half; p < measurements[round].size(); p += 2) {
      v.push_back(measurements[round][p]);
    }
    return median(v);
  }
  /// Median of the passes of every second round.
  [[nodiscard]] double median_of_half(std::size_t half) const {
    std::vector<double> v;
    for (std::size_t r = half; r < measurements.size(); r += 2) {
      v.insert(v.end(), measurements[r].begin(), measurements[r].end());
    }
    return median(v);
  }
  [[nodiscard]] double median_of_all() const { return median_without(measurements.size()); }
  /// Median of the passes of all other rounds.
  [[nodiscard]] double median_without(std::size_t round) const {
    std::vector<double> v;
    for (std::size_t r = 0; r < measurements.size(); ++r) {
      if (r != round) {
        v.insert(v.end(), measurements[r].begin(), measurements[r].end());
      }
    }
    return median(v);
  }
};
using way = std::pair<tutti::schedule_kind, std::size_t>;
/// All ways for one size, and the pick of each round.
struct size_times {
  std::map<way, way_times> ways{};
  std::vector<way> picks{};
};
using grid = std::map<std::size_t, size_times>;

std::string describe(way const& w, tutti::host_map const& hosts) {
  return tutti::detail::explanation::in_words(
      tutti::schedule_choice<tutti::selection>{tutti::selection(w.first, &hosts), w.second});
}

/// Measures ways on one rank of a world.
template <class World>
class measurer {
 public:
  measurer(World& world, bench::settings const& s)
      : world_(world),
        reduces_(s.one_of("op", {"allreduce", "broadcast"}) == "allreduce"),
        longest_(s.number("longest", std::size_t{16} << 20)),
        passes_(s.number("passes", std::size_t{6})),
        autotunes_(s.one_of("autotune", {"no", "yes"}) == "yes"),
        microseconds_(1000 * static_cast<double>(s.number("milliseconds", 1))),
        barrier_(world, tutti::doubling{}),
        slowest_(world, tutti::doubling{}, tutti::max<double>{}),
        kind_(s.one_of("buffers", {"ordinary", "allocator"}) == "ordinary" ? tutti::memory_kind::ordinary
                                                                           : tutti::memory_kind::allocator),
        allocated_memory_(tutti::allocator<float>(world)) {
    if (kind_ == tutti::memory_kind::ordinary) {
      ordinary_memory_.resize(longest_ / sizeof(float));
      data_ = ordinary_memory_;
    } else {
      allocated_memory_.resize(longest_ / sizeof(float));
      data_ = allocated_memory_;
    }
  }

  /// The profile that the last round measured.
  [[nodiscard]] std::string const& profile() const noexcept { return profile_; }

  void measure_round(grid& results, std::vector<double>& profile_times) {
    auto const begin = tutti::steady_now();
    tutti::automatic const best = tutti::automatic(world_, {.remeasure = true}).for_memory(kind_);
    profile_times.push_back(max_over_ranks(microseconds_since(begin)));
    profile_ = tutti::detail::to_text(best.profile());
    for (std::size_t bytes = 4; bytes <= longest_; bytes *= 4) {
      if (reduces_) {
        measure_size(best, tutti::op::allreduce{}, bytes, results[bytes]);
      } else {
        measure_size(best, tutti::op::broadcast{0}, bytes, results[bytes]);
      }
    }
  }

 private:
  template <class Op>
  void measure_size(tutti::automatic const& best, Op op, std::size_t bytes, size_times& times) {
    if (autotunes_) {
      best.autotune(world_, op, data_.first(bytes / sizeof(float)));
    }
    auto ways = best.predict(op, bytes);
    times.picks.push_back(representative(op, best.choose(op, bytes), ways));
    std::erase_if(ways, [&, all_ways = ways](tutti::prediction const& p) {
      return representative(op, p.way, all_ways) != way{p.way.topology.kind(), p.way.segment_bytes};
    });
    for (tutti::prediction const& p : ways) {
      way_times& t = times.ways[{p.way.topology.kind(), p.way.segment_bytes}];
      t.expected.push_back(static_cast<double>(p.time) * 1e-6);
      t.measurements.emplace_back();
    }
    for (std::size_t pass = 0; pass < passes_; ++pass) {
      // Begins each pass with another way. The first ones find caches, and transports that learn how to copy, in a
      // foreign state; beginning with the pick would be unfair to it.
      std::rotate(
          ways.begin(),
          ways.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(ways.size() / passes_, ways.size() > 1)),
          ways.end());
      for (tutti::prediction const& p : ways) {
        way_times& t = times.ways[{p.way.topology.kind(), p.way.segment_bytes}];
        t.measurements.back().push_back(measure(p, bytes, t.expected.back()));
      }
    }
  }

  using choice = tutti::schedule_choice<tutti::selection>;

  /// The first of all topologies with the same steps for this operation, in segments of the same size.
  template <class Op>
  [[nodiscard]] way representative(Op op, choice const& c, std::vector<tutti::prediction> const& ways) const {
    way first{c.topology.kind(), c.segment_bytes};
    for (tutti::prediction const& p : ways) {
      way const other{p.way.topology.kind(), p.way.segment_bytes};
      if (other.second == first.second && other < first && has_same_steps(op, c.topology, p.way.topology)) {
        first = other;
      }
    }
    return first;
  }
  template <class Op>
  [[nodiscard]] bool has_same_steps(Op op, tutti::selection const& a, tutti::selection const& b) const {
    tutti::rank_type const n = world_.size();
    bool is_same = a.blocks(op, n) == b.blocks(op, n);
    for (tutti::rank_type r = 0; is_same && r < n; ++r) {
      std::uint32_t const steps = a.steps(op, n, r);
      is_same = steps == b.steps(op, n, r);
      for (std::uint32_t i = 0; is_same && i < steps; ++i) {
        is_same = a.at(op, n, r, i) == b.at(op, n, r, i);
      }
    }
    return is_same;
  }

  [[nodiscard]] static double microseconds_since(tutti::time_point begin) {
    return static_cast<double>((tutti::steady_now() - begin).count()) * 1e-3;
  }
  double max_over_ranks(double microseconds) {
    std::vector<double> value{microseconds};
    slowest_(value);
    return value[0];
  }

  double measure(tutti::prediction const& p, std::size_t bytes, double expected) {
    std::span<float> const v = data_.first(bytes / sizeof(float));
    auto const repetitions = static_cast<int>(std::clamp(microseconds_ / std::max(expected, 0.1), 1.0, 2000.0));
    if (reduces_) {
      tutti::allreduce sum{world_, p.way.topology, tutti::sum<float>{}};
      sum.segment(p.way.segment_bytes);
      return loop(repetitions, [&] { sum(v); });
    }
    // Has the root rewrite its vector each time, as programs do; back to back it would run ahead.
    tutti::broadcast share{world_, p.way.topology};
    share.segment(p.way.segment_bytes);
    double total = 0;
    for (int i = -8; i < repetitions; ++i) {
      if (world_.rank() == 0) {
        std::fill(v.begin(), v.end(), static_cast<float>(i));
      }
      barrier_();
      tutti::detail::access::state(world_).wait_policy = {};
      auto const begin = tutti::steady_now();
      share(v, 0);
      total += i < 0 ? 0 : microseconds_since(begin);
    }
    return max_over_ranks(total / repetitions);
  }

  template <class F>
  double loop(int repetitions, F const& f) {
    for (int i = 0; i < 8; ++i) {  // touches the memory of every lane
      f();
    }
    barrier_();
    tutti::detail::access::state(world_).wait_policy = {};  // no backoff, as when `automatic` measures
    auto const begin = tutti::steady_now();
    for (int i = 0; i < repetitions; ++i) {
      f();
    }
    return max_over_ranks(microseconds_since(begin) / repetitions);
  }

  World& world_;
  bool reduces_;
  std::size_t longest_;
  std::size_t passes_;
  bool autotunes_;
  double microseconds_;
  tutti::barrier<World, tutti::doubling> barrier_;
  tutti::allreduce<World, tutti::doubling, tutti::max<double>> slowest_;
  tutti::memory_kind kind_;
  std::vector<float> ordinary_memory_{};
  std::vector<float, tutti::allocator<float>> allocated_memory_;
  std::span<float> data_{};
  std::string profile_{};
};

/// An average relative error.
class mean {
 public:
  void add(double value, double reference) {
    sum_ += std::abs(value / reference - 1);
    ++count_;
  }
  void add(mean const& m) {
    sum_ += m.sum_;
    count_ += m.count_;
  }
  [[nodiscard]] double percent() const { return count_ == 0 ? 0 : 100 * sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

/// The quality of picks for one size, relative to measurements.
struct verdict {
  mean error{};                      ///< error of predictions of all ways
  mean error_later{};                ///< their error, judged by other rounds
  mean pick_error{};                 ///< error of predictions of the picks
  mean machine{};                    ///< difference of one pass from the passes beside it
  mean drift{};                      ///< difference of one round from the others
  mean meter{};                      ///< difference of one prediction from the median of all rounds
  mean model{};                      ///< difference of the median prediction from the median measurement
  std::vector<double> ratios_now{};  ///< times of picks relative to the best way
  std::vector<double> ratios_later{};
  std::vector<double> ratios_with_hindsight{};  ///< `ratios_now` for the best way of all other rounds

  void add(verdict const& v) {
    error.add(v.error);
    error_later.add(v.error_later);
    pick_error.add(v.pick_error);
    machine.add(v.machine);
    drift.add(v.drift);
    meter.add(v.meter);
    model.add(v.model);
    ratios_now.insert(ratios_now.end(), v.ratios_now.begin(), v.ratios_now.end());
    ratios_later.insert(ratios_later.end(), v.ratios_later.begin(), v.ratios_later.end());
    ratios_with_hindsight.insert(ratios_with_hindsight.end(), v.ratios_with_hindsight.begin(),
                                 v.ratios_with_hindsight.end());
  }
};

template <class Time>
auto fastest(std::map<way, way_times> const& row, Time const& time) {
  return std::min_element(row.begin(), row.end(),
                          [&](auto const& a, auto const& b) { return time(a.second) < time(b.second); });
}

verdict judge(size_times const& times, std::size_t rounds) {
  verdict v;
  auto const& row = times.ways;
  for (std::size_t r = 0; r < rounds; ++r) {
    way_times const& pick = row.at(times.picks[r]);
    std::size_t const other = 1 - r % 2;
    auto const best_with_hindsight = fastest(row, [&](way_times const& t) { return t.median_without(r); });
    for (auto const& [w, t] : row) {
      v.error.add(t.expected[r], t.median_of_round(r));
      v.error_later.add(t.expected[r], t.median_of_half(other));
      for (std::size_t p = 0; p < t.measurements[r].size(); ++p) {
        v.machine.add(t.measurements[r][p], t.median_of_round(r, 1 - p % 2));
      }
      v.drift.add(t.median_of_round(r), t.median_of_half(other));
      v.meter.add(t.expected[r], median(t.expected));
    }
    v.pick_error.add(pick.expected[r], pick.median_of_round(r));
    for (std::size_t half = 0; half < 2; ++half) {
      auto const best = fastest(row, [&](way_times const& t) { return t.median_of_round(r, half); });
      v.ratios_now.push_back(pick.median_of_round(r, 1 - half) / best->second.median_of_round(r, 1 - half));
      v.ratios_with_hindsight.push_back(best_with_hindsight->second.median_of_round(r, 1 - half) /
                                        best->second.median_of_round(r, 1 - half));
    }
    auto const best = fastest(row, [&](way_times const& t) { return t.median_of_half(1 - other); });
    v.ratios_later.push_back(pick.median_of_half(other) / best->second.median_of_half(other));
  }
  for (auto const& [w, t] : row) {
    v.model.add(median(t.expected), t.median_of_all());
  }
  return v;
}

double percent_good(std::vector<double> const& ratios) {
  return 100 * static_cast<double>(std::count_if(ratios.begin(), ratios.end(), [](double r) { return r <= 1.1; })) /
         static_cast<double>(ratios.size());
}

void report(grid const& results, std::vector<double> const& profile_times, tutti::host_map const& hosts, bool details) {
  verdict sum;
  std::size_t ways = 0;
  std::size_t good_sizes = 0;
  std::printf("%9s  %-34s %10s %10s  %-34s %10s %6s %6s %7s %6s %6s %6s\n", "bytes", "picked last", "expected",
              "measured", "best", "measured", "ratio", "error", "machine", "drift", "meter", "model");
  for (auto const& [bytes, times] : results) {
    auto const& row = times.ways;
    way_times const& pick = row.at(times.picks.back());
    auto const best = fastest(row, [](way_times const& t) { return t.median_of_all(); });
    for (auto const& [w, t] : row) {
      if (details) {
        std::printf("%9zu    %-32s %10.2f %10.2f\n", bytes, describe(w, hosts).c_str(), median(t.expected),
                    t.median_of_all());
      }
    }
    verdict const v = judge(times, profile_times.size());
    sum.add(v);
    ways += row.size();
    good_sizes += median(v.ratios_now) <= 1.1 ? 1U : 0U;
    std::printf("%9zu  %-34s %10.2f %10.2f  %-34s %10.2f %6.2f %4.0f %% %5.0f %% %4.0f %% %4.0f %% %4.0f %%\n", bytes,
                describe(times.picks.back(), hosts).c_str(), median(pick.expected), pick.median_of_all(),
                describe(best->first, hosts).c_str(), best->second.median_of_all(), median(v.ratios_now),
                v.error.percent(), v.machine.percent(), v.drift.percent(), v.meter.percent(), v.model.percent());
  }
  std::printf(
      "mean error of %zu predictions %.0f %%, of the picks %.0f %%; judged by other rounds %.0f %%\n"
      "the machine varies: what one pass has measured is wrong by %.0f %%, one round by %.0f %%\n"
      "the meter varies: what one round has expected lies %.0f %% from the median of all\n"
      "the model: that median is wrong by %.0f %%\n"
      "pick within 10 %% of the best in %.0f %% of %zu rounds x %zu sizes, in the median round for %zu sizes; judged "
      "by "
      "other rounds %.0f %%\n"
      "picked with hindsight, the best way of all other rounds for each size, %.0f %%\n"
      "measuring the world took %.1f ms\n",
      ways, sum.error.percent(), sum.pick_error.percent(), sum.error_later.percent(), sum.machine.percent(),
      sum.drift.percent(), sum.meter.percent(), sum.model.percent(), percent_good(sum.ratios_now), profile_times.size(),
      results.size(), good_sizes, percent_good(sum.ratios_later), percent_good(sum.ratios_with_hindsight),
      median(profile_times) * 1e-3);
}

template <class World>
void run(World& world, bench::settings const& s) {
  grid results;
  std::vector<double> profile_times;
  std::size_t const rounds = s.number("rounds", std::size_t{8});
  std::size_t const passes = s.number("passes", std::size_t{6});
  if (rounds == 0 || rounds % 2 != 0 || passes == 0 || passes % 2 != 0) {
    throw std::runtime_error("rounds and passes must be even numbers: one half is judged by the other");
  }
  measurer<World> m(world, s);
  for (std::size_t r = 0; r < rounds; ++r) {
    m.measure_round(results, profile_times);
  }
  if (world.rank() == 0) {
    std::printf("%s of floats, %u ranks, %s\n", s.text("op", "allreduce").c_str(), world.size(),
                World::transport_type::name.data());
    bool const details = s.one_of("details", {"no", "yes"}) == "yes";
    if (details) {
      std::fputs(m.profile().c_str(), stdout);
    }
    report(results, profile_times, world.hosts(), details);
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
