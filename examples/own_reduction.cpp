// SPDX-License-Identifier: Apache-2.0
//
// A reduction of your own. The ranks hold logarithms of probabilities and want the logarithm of their
// sum, log(exp(x0) + exp(x1) + ...), without computing an exponential that overflows or vanishes.
#include <tutti/tutti.hpp>

#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>
#include <vector>

struct log_sum_exp {
  struct scaled_sum {
    double largest;
    double sum;  // sum of exp(x - largest)
  };

  // Required: types of elements and of accumulators, and what may be assumed.
  using value_type = float;
  using accumulator_type = scaled_sum;
  static constexpr std::string_view name = "log_sum_exp";
  static constexpr bool commutative = true;
  static constexpr bool associative = false;  // sums in floating point never are

  scaled_sum identity() const { return {-std::numeric_limits<double>::infinity(), 0}; }
  scaled_sum lift(float x) const { return {x, 1}; }
  scaled_sum combine(scaled_sum a, scaled_sum b) const { return a.largest < b.largest ? join(b, a) : join(a, b); }
  float lower(scaled_sum a, tutti::rank_type) const { return static_cast<float>(a.largest + std::log(a.sum)); }

 private:
  static scaled_sum join(scaled_sum high, scaled_sum low) {
    if (high.largest == low.largest) {  // true for infinities, too, whose difference is not a number
      return {high.largest, high.sum + low.sum};
    }
    return {high.largest, high.sum + low.sum * std::exp(low.largest - high.largest)};
  }
};
static_assert(tutti::reduction<log_sum_exp>);

int main() {
  auto const outcomes = tutti::spawn<tutti::loopback>(4, [](auto& world) {
    tutti::allreduce total{world, tutti::butterfly{}, log_sum_exp{}};
    std::vector<float> x{1000.0F + static_cast<float>(world.rank()), -2000.0F};
    total(x);
    return x;
  });

  bool good = true;
  for (auto const& outcome : outcomes) {
    std::vector<float> const& x = outcome.value();
    std::printf("log of the sum: %.5f and %.5f\n", static_cast<double>(x[0]), static_cast<double>(x[1]));
    // exp(1000) + ... + exp(1003) is exp(1003) * 1.55303..., and four times exp(-2000) is exp(-2000 + log 4).
    good = good && std::abs(x[0] - 1003.44019F) < 1e-3F && std::abs(x[1] + 1998.61371F) < 1e-3F;
  }
  return good ? 0 : 1;
}
