// SPDX-License-Identifier: Apache-2.0
// test: address
#include <laws/reduction.hpp>
#include <tutti/reduction/reduce_with.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>

namespace {

/// The map x -> a x + b, modulo 2^32. Composition of maps is associative and does not commute.
struct affine {
  std::uint32_t a;
  std::uint32_t b;
};

constexpr affine compose(affine first, affine second) {
  return {second.a * first.a, second.a * first.b + second.b};
}

constexpr auto name = tutti::function_name<"then">;

constexpr affine maps[] = {{1, 0}, {2, 3}, {5, 7}, {0x80000001U, 11}, {3, 0xffffffffU}};

BOOST_AUTO_TEST_CASE(an_associative_functor_that_does_not_commute) {
  auto const r = tutti::reduce_with<affine>(compose, affine{1, 0}, name, tutti::associative);
  BOOST_TEST(laws::algebra(r, std::span<affine const>(maps)) == "");
  BOOST_TEST(laws::kernels(r, std::span<affine const>(maps)) == "");
}

/// Keeps the high half of the left operand and adds the low halves. Vector kernels run it.
constexpr auto keep_left = [](std::uint32_t a, std::uint32_t b) { return (a & 0xffff0000U) | ((a + b) & 0xffffU); };
constexpr std::uint32_t halves[] = {0x10001U, 0x20002U, 0x3fff0U};

BOOST_AUTO_TEST_CASE(a_functor_of_numbers_that_does_not_commute) {
  auto const r = tutti::reduce_with<std::uint32_t>(keep_left);
  BOOST_TEST(laws::kernels(r, std::span<std::uint32_t const>(halves)) == "");
}

BOOST_AUTO_TEST_CASE(commutative_is_not_taken_for_equal_bits) {
  // Two ranks that combine the same two vectors in opposite orders must get the same bits.
  auto const r = tutti::reduce_with<std::uint32_t>(keep_left, tutti::commutative);
  BOOST_TEST(laws::kernels(r, std::span<std::uint32_t const>(halves)) == "");
}

BOOST_AUTO_TEST_CASE(the_laws_find_wrong_declarations) {
  auto const samples = std::span<affine const>(maps);
  BOOST_TEST(laws::algebra(tutti::reduce_with<affine>(compose, affine{1, 0}, name), samples) ==
             "is associative without saying so");
  BOOST_TEST(
      laws::algebra(tutti::reduce_with<affine>(compose, affine{1, 0}, name, tutti::associative, tutti::commutative),
                    samples) == "does not commute");
  BOOST_TEST(laws::algebra(tutti::reduce_with<affine>(compose, name, tutti::associative), samples) ==
             "the identity changes something");
}

BOOST_AUTO_TEST_CASE(declared_properties) {
  auto const f = [](int a, int b) { return a > b ? a : b; };
  auto plain = tutti::reduce_with<int>(f);
  static_assert(tutti::reduction<decltype(plain)>);
  static_assert(!plain.commutative && !plain.associative && plain.name == "functor");
  // A commutative functor is not symmetric: both orders have kernels.
  auto full = tutti::reduce_with<int>(f, tutti::function_name<"largest">, tutti::commutative, tutti::associative);
  static_assert(full.commutative && full.associative && full.name == "largest");
  static_assert(!tutti::detail::symmetric<decltype(full)>);
  BOOST_TEST(plain.identity() == 0);
  BOOST_TEST(tutti::reduce_with<int>(f, -1, tutti::commutative).identity() == -1);
}

BOOST_AUTO_TEST_CASE(any_callable) {
  constexpr auto pointer = +[](int a, int b) { return a - b; };
  BOOST_TEST(tutti::reduce_with<int>(pointer, name).combine(5, 3) == 2);

  struct object {
    int factor;
    int operator()(int a, int b) const { return factor * a + b; }
  };
  BOOST_TEST(tutti::reduce_with<int>(object{10}).combine(4, 2) == 42);

  BOOST_TEST(tutti::reduce_with<short>([](auto a, auto b) { return a * b; }).combine(3, 4) == 12);  // gives int
}

BOOST_AUTO_TEST_CASE(a_lambda_that_captures_can_be_assigned) {
  auto const make = [](int factor) {
    return tutti::reduce_with<int>([factor](int a, int b) { return factor * a + b; }, -factor);
  };
  auto r = make(2);
  static_assert(tutti::reduction<decltype(r)>);
  r = make(3);
  BOOST_TEST(r.combine(1, 1) == 4);
  BOOST_TEST(r.identity() == -3);
  r = *&r;
  BOOST_TEST(r.combine(1, 1) == 4);
}

struct no_default {
  int x;
  no_default() = delete;
  explicit no_default(int v) : x(v) {}
};

BOOST_AUTO_TEST_CASE(elements_without_a_default_are_reduced_with_an_identity) {
  auto const r = tutti::reduce_with<no_default>([](no_default a, no_default) { return a; }, no_default(7));
  BOOST_TEST(r.identity().x == 7);
  BOOST_TEST(r.combine(no_default(1), no_default(2)).x == 1);
}

}  // namespace
