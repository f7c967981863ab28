// SPDX-License-Identifier: Apache-2.0
// test: address (the engine is the same for other reductions)
//
// Sums of 16-bit numbers that are computed in float, and rounded once.
#include <laws/reduction.hpp>
#include <support/worlds.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <concepts>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

template <class R>
using in_float = tutti::accumulate_in<float, R>;

using formats = std::tuple<tutti::half, tutti::bfloat16>;

/// The topology over which a format is tested.
template <class T>
using topology_for = std::conditional_t<std::same_as<T, tutti::half>, tutti::direct, tutti::star>;

struct same_but_nan {
  template <class T>
  bool operator()(T a, T b) const {
    return (a != a && b != b) || laws::same_bits{}(a, b);
  }
};

template <class T>
std::vector<T> samples() {
  using limits = std::numeric_limits<T>;
  return {T(0.0F),
          T(-0.0F),
          T(1.0F),
          T(-1.5F),
          T(0.1F),
          T(3e4F),
          limits::max(),
          limits::lowest(),
          limits::min(),
          limits::denorm_min(),
          limits::infinity(),
          T(-limits::infinity()),
          limits::quiet_NaN()};
}

template <class R>
void check_laws() {
  using T = typename R::value_type;
  auto const values = samples<T>();
  BOOST_TEST(laws::algebra(R{}, std::span<T const>(values), laws::same_bits{}, same_but_nan{}) == "");
  BOOST_TEST(laws::kernels(R{}, std::span<T const>(values), laws::same_bits{}, same_but_nan{}) == "");
}

/// A term of rank `r`: each is below half a unit in the last place of the sum, so that one more rounding would lose
/// it.
template <class T>
T term(tutti::rank_type r, std::size_t i) {
  float const unit = r == 0 ? 1.0F : static_cast<float>(std::numeric_limits<T>::epsilon()) * 0.375F;
  return T((i % 3 == 0 ? -unit : unit) * static_cast<float>(1 + i % 5));
}

/// The sum in float, in rank order, rounded once. Every partial sum is exact, so order makes no difference.
template <class T>
std::vector<T> rounded_once(tutti::rank_type n, std::size_t count) {
  std::vector<T> sums;
  for (std::size_t i = 0; i != count; ++i) {
    float sum = 0;
    for (tutti::rank_type r = 0; r != n; ++r) {
      sum += term<T>(r, i);
    }
    sums.push_back(T(sum));
  }
  return sums;
}

template <class T>
bool are_equal(std::span<T const> a, std::span<T const> b) {
  return std::ranges::equal(a, b, laws::same_bits{});
}

template <class T, class Topology, class World>
std::string first_complaint(World& world, std::size_t count, std::size_t segment) {
  tutti::rank_type const n = world.size();
  tutti::rank_type const me = world.rank();
  std::vector<T> input;
  for (std::size_t i = 0; i != count; ++i) {
    input.push_back(term<T>(me, i));
  }
  std::vector<T> const expected = rounded_once<T>(n, count);
  in_float<tutti::sum<T>> const reduction;

  tutti::allreduce allreduce{world, Topology{}, reduction};
  allreduce.segment(segment);
  std::vector<T> in_place = input;
  allreduce(in_place);
  std::vector<T> output(count);
  allreduce(input, output);

  tutti::reduce_scatter reduce_scatter{world, Topology{}, reduction};
  std::vector<T> part(tutti::block_size(count, n, me));
  reduce_scatter(input, part);

  tutti::reduce reduce{world, Topology{}, reduction};
  std::vector<T> root_output(me == n - 1 ? count : 0);
  reduce(input, root_output, n - 1);

  auto const expected_part = std::span(expected).subspan(tutti::block_begin(count, n, me), part.size());
  return !are_equal<T>(in_place, expected)                              ? "allreduce in place"
         : !are_equal<T>(output, expected)                              ? "allreduce apart"
         : !are_equal<T>(part, expected_part)                           ? "reduce_scatter"
         : !root_output.empty() && !are_equal<T>(root_output, expected) ? "reduce"
                                                                        : "";
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(the_laws_of_reductions_hold, T, formats) {
  check_laws<in_float<std::conditional_t<std::same_as<T, tutti::half>, tutti::sum<T>, tutti::mean<T>>>>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sums_are_rounded_once, T, formats) {
  for (tutti::rank_type const n : {1U, 2U, 3U, 5U}) {
    support::agree<tutti::loopback>(n, [](auto& world) {
      for (std::size_t const count : {0U, 1U, 2U, 67U, 4099U}) {
        for (std::size_t const segment : {0U, 96U}) {
          std::string const complaint = first_complaint<T, topology_for<T>>(world, count, segment);
          if (!complaint.empty()) {
            return complaint + ", " + std::to_string(count) + " elements, segment " + std::to_string(segment);
          }
        }
      }
      return std::string();
    });
  }
}

BOOST_AUTO_TEST_CASE(a_rounding_at_each_hop_gives_something_else) {
  using T = tutti::half;
  support::agree<tutti::loopback>(5, [](auto& world) {
    tutti::allreduce each_hop{world, tutti::ring{}, tutti::sum<T>{}};
    std::vector<T> data;
    for (std::size_t i = 0; i != 67; ++i) {
      data.push_back(term<T>(world.rank(), i));
    }
    each_hop(data);
    return std::string(are_equal<T>(data, rounded_once<T>(5, 67)) ? "the terms show nothing" : "");
  });
}

BOOST_AUTO_TEST_CASE(it_says_what_it_is) {
  using reduction = in_float<tutti::sum<tutti::half>>;
  BOOST_TEST(reduction::name == "sum in float32");
  static_assert(tutti::needs_raw_contributions<reduction> && !tutti::needs_raw_contributions<tutti::sum<tutti::half>>);
  static_assert(sizeof(reduction) == 1);
}
