// SPDX-License-Identifier: Apache-2.0
//
// What does tutti::automatic expect, and what is true? All schedules and segments that it may pick, for a grid of
// sizes, predicted and measured; see docs/performance.md.
//
// Each round measures the world anew and then each way for some milliseconds, so that what slows the machine down
// slows both. Floats, in place.
//
// The least of many noisy figures is too small, and who is compared with it looks worse than he is. So rounds are dealt
// into two halves: what was expected and picked in a round, and what was the best way in its half, are judged by the
// medians of the other half. How far the halves lie apart says what of the error is the measurement's own.
//
// Among few ranks several topologies have the same steps: they are one way, whichever of them was picked.
//
// What of the error is the machine's, what the meter's and what the model's? What was expected is from one moment, and
// so is what a way took in that round: where even this is wrong about the other half, the machine has changed between
// the two. Where one round expects something else than the median of all, the few milliseconds of measuring saw little.
// Where the medians of all rounds, of what was expected and of what is true, lie apart, the model is wrong.
#include "common/serve.hpp"
#include "common/settings.hpp"
#include <tutti/allocator.hpp>
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
            [rounds=8] [longest=16777216] [milliseconds=1] [buffers=ordinary|allocator]
            [rehearse=no|yes] [details=no|yes]

What tutti::automatic expects of each schedule and segment size, and what is true. Rounds: an even number.
rehearse: what is picked is what a rehearsal finds, for each size.
joined: TCP, in the world of the launcher that started this process.)";

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

/// Every second round, from the first or the second on.
double median_of_half(std::vector<double> const& rounds, std::size_t half) {
  std::vector<double> v;
  for (std::size_t r = half; r < rounds.size(); r += 2) {
    v.push_back(rounds[r]);
  }
  return median(v);
}

/// Microseconds of one way on one size, round by round.
struct way_times {
  std::vector<double> expected;
  std::vector<double> measured;
};
using way = std::pair<tutti::schedule_kind, std::size_t>;
/// All ways for one size, and what was picked in each round.
struct size_times {
  std::map<way, way_times> ways{};
  std::vector<way> picks{};
};
using grid = std::map<std::size_t, size_times>;

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
        rounds_(s.number("rounds", std::size_t{8})),
        rehearses_(s.one_of("rehearse", {"no", "yes"}) == "yes"),
        microseconds_(1000 * static_cast<double>(s.number("milliseconds", 1))),
        barrier_(world, tutti::doubling{}),
        slowest_(world, tutti::doubling{}, tutti::max<double>{}),
        kind_(s.one_of("buffers", {"ordinary", "allocator"}) == "ordinary" ? tutti::memory_kind::ordinary
                                                                           : tutti::memory_kind::provided),
        given_(tutti::allocator<float>(world)) {
    if (kind_ == tutti::memory_kind::ordinary) {
      own_.resize(longest_ / sizeof(float));
      data_ = own_;
    } else {
      given_.resize(longest_ / sizeof(float));
      data_ = given_;
    }
  }

  /// What the last round has measured of the world.
  [[nodiscard]] std::string const& profile() const noexcept { return profile_; }

  void round(grid& all, std::vector<double>& took) {
    auto const begin = tutti::steady_now();
    tutti::automatic const best = tutti::automatic(world_).for_memory(kind_);
    took.push_back(agreed(since(begin)));
    profile_ = tutti::to_text(best.profile());
    for (std::size_t bytes = 4; bytes <= longest_; bytes *= 4) {
      if (reduces_) {
        size(best, tutti::op::allreduce{}, bytes, all[bytes]);
      } else {
        size(best, tutti::op::broadcast{0}, bytes, all[bytes]);
      }
    }
  }

 private:
  template <class Op>
  void size(tutti::automatic const& best, Op op, std::size_t bytes, size_times& all) {
    if (rehearses_) {
      best.rehearse(world_, op, data_.first(bytes / sizeof(float)));
    }
    // Each round begins with another way: the first ones after a change of sizes find caches, and transports that
    // learn how to copy, as the last size has left them, and to begin with the pick would be unfair to it.
    std::size_t const round = all.picks.size();
    auto ways = best.predict(op, bytes);
    std::rotate(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(ways.size() * round / rounds_), ways.end());
    all.picks.push_back(one_of(op, best.choose(op, bytes, false), ways));
    for (tutti::prediction const& p : ways) {
      if (way const here{p.way.topology.kind(), p.way.segment_bytes}; one_of(op, p.way, ways) == here) {
        auto const expected = static_cast<double>(p.time) * 1e-6;
        way_times& t = all.ways[here];
        t.expected.push_back(expected);
        t.measured.push_back(measure(p, bytes, expected));
      }
    }
  }

  using course = tutti::course<tutti::selection>;

  /// The first of all topologies by which the operation has the same steps, in the same segments.
  template <class Op>
  [[nodiscard]] way one_of(Op op, course const& c, std::vector<tutti::prediction> const& ways) const {
    way first{c.topology.kind(), c.segment_bytes};
    for (tutti::prediction const& p : ways) {
      way const other{p.way.topology.kind(), p.way.segment_bytes};
      if (other.second == first.second && other < first && same_steps(op, c.topology, p.way.topology)) {
        first = other;
      }
    }
    return first;
  }
  template <class Op>
  [[nodiscard]] bool same_steps(Op op, tutti::selection const& a, tutti::selection const& b) const {
    tutti::rank_type const n = world_.size();
    bool same = a.blocks(op, n) == b.blocks(op, n);
    for (tutti::rank_type r = 0; same && r < n; ++r) {
      std::uint32_t const steps = a.steps(op, n, r);
      same = steps == b.steps(op, n, r);
      for (std::uint32_t i = 0; same && i < steps; ++i) {
        same = a.at(op, n, r, i) == b.at(op, n, r, i);
      }
    }
    return same;
  }

  [[nodiscard]] static double since(tutti::time_point begin) {
    return static_cast<double>((tutti::steady_now() - begin).count()) * 1e-3;
  }
  double agreed(double us) {
    std::vector<double> one{us};
    slowest_(one);
    return one[0];
  }

  double measure(tutti::prediction const& p, std::size_t bytes, double expected) {
    std::span<float> const v = data_.first(bytes / sizeof(float));
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
  std::size_t rounds_;
  bool rehearses_;
  double microseconds_;
  tutti::barrier<World, tutti::doubling> barrier_;
  tutti::allreduce<World, tutti::doubling, tutti::max<double>> slowest_;
  tutti::memory_kind kind_;
  std::vector<float> own_{};
  std::vector<float, tutti::allocator<float>> given_;
  std::span<float> data_{};
  std::string profile_{};
};

/// What was picked for one size, and how good that was.
struct verdict {
  double error = 0;              ///< of what was expected of all ways, relative to what is true
  double pick_error = 0;         ///< of what was expected of the picks
  double noise = 0;              ///< how much one half of the rounds would have been wrong about the other
  double machine = 0;            ///< how much what a way took in one round would have been
  double meter = 0;              ///< how far what was expected in one round lies from the median of all rounds
  double model = 0;              ///< how much the median of all that was expected is, of the median of all that is true
  std::vector<double> ratios{};  ///< round by round: what the pick takes, and the best way
};

verdict judge(size_times const& of_size, std::size_t rounds) {
  verdict v;
  auto const& row = of_size.ways;
  auto const ways = static_cast<double>(row.size());
  for (std::size_t r = 0; r < rounds; ++r) {
    std::size_t const own = r % 2;
    std::size_t const other = 1 - own;
    auto const pick = row.find(of_size.picks[r]);
    auto const best = std::min_element(row.begin(), row.end(), [&](auto const& a, auto const& b) {
      return median_of_half(a.second.measured, own) < median_of_half(b.second.measured, own);
    });
    auto const off = [&](double expected, way_times const& t) {
      double const is = median_of_half(t.measured, other);
      return std::abs(expected - is) / is / static_cast<double>(rounds);
    };
    for (auto const& [w, t] : row) {
      v.error += off(t.expected[r], t) / ways;
      v.noise += off(median_of_half(t.measured, own), t) / ways;
      v.machine += off(t.measured[r], t) / ways;
      v.meter += std::abs(t.expected[r] / median(t.expected) - 1) / ways / static_cast<double>(rounds);
    }
    v.pick_error += off(pick->second.expected[r], pick->second);
    v.ratios.push_back(median_of_half(pick->second.measured, other) / median_of_half(best->second.measured, other));
  }
  for (auto const& [w, t] : row) {
    v.model += std::abs(median(t.expected) / median(t.measured) - 1) / ways;
  }
  return v;
}

void report(grid const& all, std::vector<double> const& took, tutti::host_map const& hosts, bool details) {
  verdict sum;
  double log_error = 0;
  std::size_t ways = 0;
  std::size_t good = 0;
  std::size_t good_sizes = 0;
  std::printf("%9s  %-34s %10s %10s  %-34s %10s %6s %6s %7s %6s %6s %6s\n", "bytes", "picked last", "expected",
              "measured", "best", "measured", "ratio", "error", "machine", "meter", "model", "noise");
  for (auto const& [bytes, of_size] : all) {
    auto const& row = of_size.ways;
    way const pick = of_size.picks.back();
    way best{};
    double least = INFINITY;
    for (auto const& [w, t] : row) {
      double const expected = median(t.expected);
      double const measured = median(t.measured);
      log_error += std::abs(std::log(expected / measured));
      ++ways;
      if (measured < least) {
        least = measured;
        best = w;
      }
      if (details) {
        std::printf("%9zu    %-32s %10.2f %10.2f\n", bytes, in_words(w, hosts).c_str(), expected, measured);
      }
    }
    verdict const v = judge(of_size, took.size());
    sum.error += v.error * static_cast<double>(row.size());
    sum.noise += v.noise * static_cast<double>(row.size());
    sum.machine += v.machine * static_cast<double>(row.size());
    sum.meter += v.meter * static_cast<double>(row.size());
    sum.model += v.model * static_cast<double>(row.size());
    sum.pick_error += v.pick_error;
    for (double const ratio : v.ratios) {
      good += ratio <= 1.1 ? 1U : 0U;
    }
    good_sizes += median(v.ratios) <= 1.1 ? 1U : 0U;
    std::printf("%9zu  %-34s %10.2f %10.2f  %-34s %10.2f %6.2f %4.0f %% %5.0f %% %4.0f %% %4.0f %% %4.0f %%\n", bytes,
                in_words(pick, hosts).c_str(), median(row.at(pick).expected), median(row.at(pick).measured),
                in_words(best, hosts).c_str(), least, median(v.ratios), 100 * v.error, 100 * v.machine, 100 * v.meter,
                100 * v.model, 100 * v.noise);
  }
  auto const of_all = static_cast<double>(ways);
  std::printf(
      "mean error of %zu predictions %.0f %% (of medians, geometric: %.2f x), of the picks %.0f %%\n"
      "the machine varies: what one round has measured is wrong by %.0f %%, the median of half of them by %.0f %%\n"
      "the meter varies: what one round has expected lies %.0f %% from the median of all\n"
      "the model: that median is wrong by %.0f %%\n"
      "pick within 10 %% of the best in %.0f %% of %zu rounds x %zu sizes, in the median round for %zu sizes\n"
      "measuring the world took %.1f ms\n",
      ways, 100 * sum.error / of_all, std::exp(log_error / of_all),
      100 * sum.pick_error / static_cast<double>(all.size()), 100 * sum.machine / of_all, 100 * sum.noise / of_all,
      100 * sum.meter / of_all, 100 * sum.model / of_all,
      100 * static_cast<double>(good) / static_cast<double>(all.size() * took.size()), took.size(), all.size(),
      good_sizes, median(took) * 1e-3);
}

template <class World>
void run(World& world, bench::settings const& s) {
  grid all;
  std::vector<double> took;
  std::size_t const rounds = s.number("rounds", std::size_t{8});
  if (rounds == 0 || rounds % 2 != 0) {
    throw std::runtime_error("rounds must be an even number: one half is judged by the other");
  }
  measurer<World> m(world, s);
  for (std::size_t r = 0; r < rounds; ++r) {
    m.round(all, took);
  }
  if (world.rank() == 0) {
    std::printf("%s of floats, %u ranks, %s\n", s.text("op", "allreduce").c_str(), world.size(),
                World::transport_type::name.data());
    bool const details = s.one_of("details", {"no", "yes"}) == "yes";
    if (details) {
      std::fputs(m.profile().c_str(), stdout);
    }
    report(all, took, world.hosts(), details);
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
