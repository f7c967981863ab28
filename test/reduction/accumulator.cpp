// SPDX-License-Identifier: Apache-2.0
// test: address
//
// Reductions whose accumulators are not elements, although they may have the type of elements.
#include <laws/reduction.hpp>
#include <tutti/detail/reduction/block_fold.hpp>
#include <tutti/detail/reduction/fold.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>

namespace {

/// A sum of floats in fixed point: its accumulator is wider than the element, and it is associative.
struct fixed_sum {
  using value_type = float;
  using accumulator_type = std::int64_t;
  static constexpr std::string_view name = "fixed_sum";
  static constexpr bool commutative = true;
  static constexpr bool associative = true;

  [[nodiscard]] constexpr std::int64_t identity() const { return 0; }
  [[nodiscard]] constexpr std::int64_t lift(float x) const { return static_cast<std::int64_t>(x * 1048576.0F); }
  [[nodiscard]] constexpr std::int64_t combine(std::int64_t a, std::int64_t b) const { return a + b; }
  [[nodiscard]] constexpr float lower(std::int64_t a, tutti::rank_type) const {
    return static_cast<float>(static_cast<double>(a) / 1048576.0);
  }
};

/// A compensated sum (Neumaier): an accumulator of class type.
struct compensated_sum {
  struct pair {
    double sum;
    double error;
  };
  using value_type = double;
  using accumulator_type = pair;
  static constexpr std::string_view name = "compensated_sum";
  static constexpr bool commutative = true;
  static constexpr bool associative = true;  // true for the samples below, whose sums are exact

  [[nodiscard]] constexpr pair identity() const { return {0, 0}; }
  [[nodiscard]] constexpr pair lift(double x) const { return {x, 0}; }
  [[nodiscard]] constexpr pair combine(pair a, pair b) const {
    double const s = a.sum + b.sum;
    double const from_b = s - a.sum;
    return {s, a.error + b.error + ((a.sum - (s - from_b)) + (b.sum - from_b))};
  }
  [[nodiscard]] constexpr double lower(pair a, tutti::rank_type) const { return a.sum + a.error; }
};

/// The number of positive elements: its accumulator is smaller than the element.
struct count_positive {
  using value_type = std::int32_t;
  using accumulator_type = std::uint8_t;
  static constexpr std::string_view name = "count_positive";
  static constexpr bool commutative = true;
  static constexpr bool associative = true;

  [[nodiscard]] constexpr std::uint8_t identity() const { return 0; }
  [[nodiscard]] constexpr std::uint8_t lift(std::int32_t x) const { return x > 0 ? 1 : 0; }
  [[nodiscard]] constexpr std::uint8_t combine(std::uint8_t a, std::uint8_t b) const {
    return static_cast<std::uint8_t>(a + b);
  }
  [[nodiscard]] constexpr std::int32_t lower(std::uint8_t a, tutti::rank_type) const { return a; }
};

/// A reduction whose accumulator is an element plus seven. It reveals a superfluous or missing lift or lower, a wrong
/// number of ranks and a wrong side.
struct offset_by_seven {
  using value_type = std::uint32_t;
  using accumulator_type = std::uint32_t;
  static constexpr std::string_view name = "shifted";
  static constexpr bool commutative = false;
  static constexpr bool associative = false;

  [[nodiscard]] constexpr std::uint32_t identity() const { return 7; }
  [[nodiscard]] constexpr std::uint32_t lift(std::uint32_t x) const { return x + 7; }
  [[nodiscard]] constexpr std::uint32_t combine(std::uint32_t a, std::uint32_t b) const {
    return a == 7 ? b : b == 7 ? a : 3 * a + b;
  }
  [[nodiscard]] constexpr std::uint32_t lower(std::uint32_t a, tutti::rank_type n) const { return a - 8 + n; }
};

template <class R, std::size_t N, class Restores = laws::same_bits>
void check(typename R::value_type const (&samples)[N], Restores restores = {}) {
  static_assert(tutti::reduction<R>);
  static_assert(tutti::detail::lifts<R> && tutti::detail::lowers<R> && !tutti::detail::symmetric<R>);
  std::span<typename R::value_type const> const span(samples);
  BOOST_TEST(laws::algebra(R{}, span, laws::same_bits{}, restores) == "");
  BOOST_TEST(laws::kernels(R{}, span) == "");
}

BOOST_AUTO_TEST_CASE(wider) {
  check<fixed_sum>({0.0F, 0.25F, -1.5F, 1000.0F, -0.0009765625F});
}
BOOST_AUTO_TEST_CASE(of_class_type) {
  check<compensated_sum>({0.0, 1.0, 1e16, -1e16, 3.0});
}
BOOST_AUTO_TEST_CASE(smaller) {
  check<count_positive>({0, -5, 17, 1 << 20}, [](std::int32_t result, std::int32_t x) { return result == (x > 0); });
}
BOOST_AUTO_TEST_CASE(of_the_same_type) {
  check<offset_by_seven>({0, 1, 5, 0xffffffffU});
}

BOOST_AUTO_TEST_CASE(compensation_survives_the_folds) {
  compensated_sum const r;
  auto const acc = r.combine(r.combine(r.lift(1.0), r.lift(1e100)), r.combine(r.lift(1.0), r.lift(-1e100)));
  BOOST_TEST(r.lower(acc, 4) == 2.0);
}

BOOST_AUTO_TEST_CASE(misaligned_operands_are_refused) {
  alignas(8) std::byte memory[64] = {};
  BOOST_CHECK_THROW(tutti::detail::fold(fixed_sum{}, {}, memory, memory + 20, memory + 32, 1, 1),
                    tutti::precondition_error);
  BOOST_CHECK_NO_THROW(tutti::detail::fold(fixed_sum{}, {}, memory, memory + 24, memory + 32, 1, 1));
}

}  // namespace
