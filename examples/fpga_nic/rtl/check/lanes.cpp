// SPDX-License-Identifier: Apache-2.0
//
// 16 lanes, as Verilator has translated them, against what reductions make of the same words on this host.
#include "operands.hpp"
#include <tutti/detail/reduction/number.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/saturating_sum.hpp>

#include <CLI/CLI.hpp>

#include <Vlanes_16.h>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <verilated.h>

namespace {

constexpr std::size_t lane_count = 16;
constexpr std::size_t stages = 5;

enum operation : std::uint8_t { pass, pass_canonical, sum, max, saturating_sum, operations };

template <class R>
[[nodiscard]] std::uint32_t of_floats(R const& r, std::uint32_t x, std::uint32_t y) {
  return std::bit_cast<std::uint32_t>(r.lower(r.combine(std::bit_cast<float>(x), std::bit_cast<float>(y)), 2));
}
/// What reductions make of them.
[[nodiscard]] std::uint32_t expected(operation o, std::uint32_t x, std::uint32_t y) {
  switch (o) {
    case pass:
      return y;
    case pass_canonical:
      return std::bit_cast<std::uint32_t>(tutti::detail::canonical(std::bit_cast<float>(y)));
    case sum:
      return of_floats(tutti::sum<float>{}, x, y);
    case max:
      return of_floats(tutti::max<float>{}, x, y);
    default:
      return std::bit_cast<std::uint32_t>(
          tutti::saturating_sum<std::int32_t>::combine(std::bit_cast<std::int32_t>(x), std::bit_cast<std::int32_t>(y)));
  }
}

class bench {
 public:
  explicit bench(std::uint64_t seed) : draw_(seed) {}

  /// Gives each lane a pair, and compares what comes of those of five clocks before.
  void step(operation o) {
    auto& now = under_way_[clock_ % under_way_.size()];
    now.op = o;
    now.filled = true;
    for (std::size_t l = 0; l != lane_count; ++l) {
      now.pairs[l] = pair_of((clock_ - stages) * lane_count + l);
      top_->x[l] = now.pairs[l].first;
      top_->y[l] = now.pairs[l].second;
    }
    top_->op = o;
    top_->clk = 0;
    top_->eval();
    top_->clk = 1;
    top_->eval();
    ++clock_;
    compare(under_way_[(clock_ - stages) % under_way_.size()]);
  }

  [[nodiscard]] std::uint64_t compared() const noexcept { return compared_; }

 private:
  struct beat {
    operation op = pass;
    bool filled = false;
    std::array<operands::pair, lane_count> pairs;
  };

  /// First all pairs of special values, under each operation; then drawn ones.
  [[nodiscard]] operands::pair pair_of(std::uint64_t n) {
    constexpr std::size_t m = operands::specials.size();
    std::uint64_t const i = n / (lane_count * operations) * lane_count + n % lane_count;
    if (i < m * m) {
      return {operands::specials[i / m], operands::specials[i % m]};
    }
    return draw_.next(static_cast<operands::kind>((n + n / lane_count) % operands::kinds));
  }
  void compare(beat const& b) {
    if (!b.filled) {
      return;
    }
    for (std::size_t l = 0; l != lane_count; ++l) {
      auto const [x, y] = b.pairs[l];
      std::uint32_t const want = expected(b.op, x, y);
      if (top_->z[l] != want) {
        std::array<char, 128> text;
        std::snprintf(text.data(), text.size(), "lane %zu, operation %d of %08x and %08x: %08x, not %08x", l,
                      static_cast<int>(b.op), x, y, top_->z[l], want);
        throw std::runtime_error(text.data());
      }
      ++compared_;
    }
  }

  std::unique_ptr<VerilatedContext> context_ = std::make_unique<VerilatedContext>();
  std::unique_ptr<Vlanes_16> top_ = std::make_unique<Vlanes_16>(context_.get());
  operands draw_;
  std::array<beat, stages + 1> under_way_{};
  std::uint64_t clock_ = stages;  // so that no index is below 0
  std::uint64_t compared_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  double pairs = 1e7;
  std::uint64_t seed = 1;
  CLI::App app{"Gives pairs of words to 16 lanes, as Verilator has translated them, and compares with this host."};
  app.option_defaults()->always_capture_default();
  app.add_option("--pairs", pairs, "That are added as float32; a quarter as many of each other operation")
      ->check(CLI::Range(1.0, 1e12));
  app.add_option("--seed", seed, "What they are drawn from");
  CLI11_PARSE(app, argc, argv);
  try {
    bench b(seed);
    // Every pair of special values meets every operation; after that half of all beats are sums.
    constexpr std::array order{pass, pass_canonical, sum, max, saturating_sum};
    constexpr std::array rest{sum, pass, sum, max, sum, pass_canonical, sum, saturating_sum};
    auto const steps = static_cast<std::uint64_t>(pairs / lane_count * 2) + 1;
    constexpr std::uint64_t special_steps = operations * (operands::specials.size() * operands::specials.size() / 16);
    for (std::uint64_t i = 0; i != special_steps + steps + stages; ++i) {
      b.step(i < special_steps ? order[i % order.size()] : rest[i % rest.size()]);
    }
    std::printf("lanes: %llu pairs, none differs\n", static_cast<unsigned long long>(b.compared()));
  } catch (std::exception const& e) {
    std::fprintf(stderr, "lanes: %s\n", e.what());
    return 1;
  }
  return 0;
}
