// SPDX-License-Identifier: Apache-2.0
//
// 16 Verilated lanes against the library's reductions of the same words on this host.
#include "../../../tools/common/real_range.hpp"
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

enum operation : std::uint8_t { pass, pass_canonical, sum, max, saturating_sum, product, difference, keep, operations };

template <class R>
[[nodiscard]] std::uint32_t combine_floats(R const& r, std::uint32_t x, std::uint32_t y) {
  return std::bit_cast<std::uint32_t>(r.lower(r.combine(std::bit_cast<float>(x), std::bit_cast<float>(y)), 2));
}
[[nodiscard]] std::uint32_t canonical_bits(float result) {
  return std::bit_cast<std::uint32_t>(tutti::detail::canonical(result));
}
/// The result of the reduction, or of the weight update.
[[nodiscard]] std::uint32_t expected(operation o, std::uint32_t x, std::uint32_t y) {
  switch (o) {
    case pass:
      return y;
    case pass_canonical:
      return canonical_bits(std::bit_cast<float>(y));
    case sum:
      return combine_floats(tutti::sum<float>{}, x, y);
    case max:
      return combine_floats(tutti::max<float>{}, x, y);
    case product:
      return canonical_bits(std::bit_cast<float>(x) * std::bit_cast<float>(y));
    case difference:
      return canonical_bits(std::bit_cast<float>(x) - std::bit_cast<float>(y));
    case keep:
      return x;
    default:
      return std::bit_cast<std::uint32_t>(
          tutti::saturating_sum<std::int32_t>::combine(std::bit_cast<std::int32_t>(x), std::bit_cast<std::int32_t>(y)));
  }
}

class bench {
 public:
  /// Gives each lane `pair_of(lane)`, and compares the results of the pairs of five clocks ago.
  template <class PairOf>
  void step(operation o, PairOf const& pair_of) {
    beat& entry = pipeline_[clock_ % pipeline_.size()];
    entry.op = o;
    entry.is_filled = true;
    for (std::size_t l = 0; l != lane_count; ++l) {
      entry.pairs[l] = pair_of(l);
      top_->x[l] = entry.pairs[l].first;
      top_->y[l] = entry.pairs[l].second;
    }
    top_->op = o;
    top_->clk = 0;
    top_->eval();
    top_->clk = 1;
    top_->eval();
    ++clock_;
    compare(pipeline_[(clock_ - stages) % pipeline_.size()]);
  }
  /// Flushes the last pairs.
  void finish() {
    for (std::size_t i = 0; i != stages; ++i) {
      step(pass, [](std::size_t) { return operands::pair{}; });
    }
  }

  [[nodiscard]] std::uint64_t compared_pairs() const noexcept { return compared_pairs_; }

 private:
  struct beat {
    operation op = pass;
    bool is_filled = false;
    std::array<operands::pair, lane_count> pairs{};
  };

  void compare(beat const& b) {
    if (!b.is_filled) {
      return;
    }
    for (std::size_t l = 0; l != lane_count; ++l) {
      auto const [x, y] = b.pairs[l];
      std::uint32_t const reference = expected(b.op, x, y);
      if (top_->z[l] != reference) {
        std::array<char, 128> text;
        std::snprintf(text.data(), text.size(), "lane %zu, operation %d of %08x and %08x: %08x, not %08x", l,
                      static_cast<int>(b.op), x, y, top_->z[l], reference);
        throw std::runtime_error(text.data());
      }
      ++compared_pairs_;
    }
  }

  std::unique_ptr<VerilatedContext> context_ = std::make_unique<VerilatedContext>();
  std::unique_ptr<Vlanes_16> top_ = std::make_unique<Vlanes_16>(context_.get());
  std::array<beat, stages + 1> pipeline_{};
  std::uint64_t clock_ = stages;  // keeps indices above 0
  std::uint64_t compared_pairs_ = 0;
};

/// All pairs of words of any sign, any exponent, and the smallest, largest or middle fraction.
void exhaust_corners(bench& b) {
  constexpr std::array<std::uint32_t, 5> fractions{0, 1, 0x3fffff, 0x400000, 0x7fffff};
  constexpr std::size_t words = 512 * fractions.size();
  static_assert(words % lane_count == 0);
  auto const word = [&](std::size_t i) {
    return static_cast<std::uint32_t>(i / fractions.size()) << 23 | fractions[i % fractions.size()];
  };
  for (std::uint8_t o = 0; o != operations; ++o) {
    for (std::size_t x = 0; x != words; ++x) {
      for (std::size_t y = 0; y != words; y += lane_count) {
        b.step(static_cast<operation>(o), [&](std::size_t l) { return operands::pair{word(x), word(y + l)}; });
      }
    }
  }
}

/// A third of the beats are sums, a third products.
void draw_pairs(bench& b, std::uint64_t sums, std::uint64_t seed) {
  constexpr std::array order{sum, pass,    product,    sum, max,  product, sum, pass_canonical, product,
                             sum, product, difference, sum, keep, product, sum, product,        saturating_sum};
  operands draw(seed);
  for (std::uint64_t i = 0; i * lane_count / 3 < sums; ++i) {
    b.step(order[i % order.size()],
           [&](std::size_t l) { return draw.next(static_cast<operands::kind>((i / 3 + l) % operands::kinds)); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  double pairs = 1e7;
  std::uint64_t seed = 1;
  CLI::App app{
      "Gives pairs of words to 16 lanes, as Verilator has translated them, and compares with this host: all pairs of\n"
      "corners of float32, and drawn ones."};
  app.option_defaults()->always_capture_default();
  app.add_option("--pairs", pairs, "That are drawn and added as float32, and multiplied; fewer of each other operation")
      ->check(real_range(1.0, 1e12));
  app.add_option("--seed", seed, "What they are drawn from");
  CLI11_PARSE(app, argc, argv);
  try {
    bench b;
    exhaust_corners(b);
    draw_pairs(b, static_cast<std::uint64_t>(pairs), seed);
    b.finish();
    std::printf("lanes: %llu pairs, none differs\n", static_cast<unsigned long long>(b.compared_pairs()));
  } catch (std::exception const& e) {
    std::fprintf(stderr, "lanes: %s\n", e.what());
    return 1;
  }
  return 0;
}
