// SPDX-License-Identifier: Apache-2.0
// test: address optimised
#include <reduction/instructions.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/detail/reduction/block_fold.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reduce_with.hpp>

#include <cstdint>
#include <tuple>

namespace {

using instructions::available;
using instructions::check;
using instructions::limited_to;
using tutti::detail::instruction_set;

using fractions = std::tuple<float, double, tutti::half, tutti::bfloat16>;

/// A product plus a number, whose last bit depends on fusion.
constexpr auto damp = [](auto a, auto b) { return a * decltype(a)(0.9F) + b; };

BOOST_AUTO_TEST_CASE_TEMPLATE(a_functor_that_could_be_fused, T, fractions) {
  check(tutti::reduce_with<T>(damp));
}

BOOST_AUTO_TEST_CASE(a_functor_of_halves) {
  check(tutti::reduce_with<tutti::half>([](tutti::half a, tutti::half b) { return tutti::half(2 * a - b); }));
}

[[gnu::noinline]] unsigned elsewhere(unsigned a, unsigned b) {
  return 3 * a - b;
}
BOOST_AUTO_TEST_CASE(a_functor_that_cannot_be_inlined) {
  unsigned (*const volatile pointer)(unsigned, unsigned) = elsewhere;
  check(tutti::reduce_with<unsigned>(+pointer, tutti::function_name<"elsewhere">));
}

struct point {
  float x, y, z;
};
BOOST_AUTO_TEST_CASE(a_functor_of_structures) {
  auto const add = [](point a, point b) { return point{a.x + b.x, a.y + b.y, a.z + b.z}; };
  // Without NaNs, whose bits may differ, because a structure cannot declare that.
  std::vector<point> a(300, point{1, 2, 3});
  for (auto set : available()) {
    limited_to const limit(set);
    auto b = a;
    auto* const place = reinterpret_cast<std::byte*>(b.data());
    tutti::detail::fold(tutti::reduce_with<point>(add), {}, place, reinterpret_cast<std::byte const*>(a.data()), place,
                        b.size(), 2);
    BOOST_TEST(std::ranges::all_of(b, [](point p) { return p.x == 2 && p.y == 4 && p.z == 6; }));
  }
}

// The kernels of rare reductions in a header-only program that knows reductions at run time.
BOOST_AUTO_TEST_CASE(kernels_of_the_baseline_alone) {
  check(tutti::detail::baseline_only<tutti::min<std::int8_t>>{});
  check(tutti::detail::baseline_only<tutti::max<tutti::half>>{});
}

BOOST_AUTO_TEST_CASE(streamed) {
  instructions::check_streamed(tutti::reduce_with<double>(damp));
}

BOOST_AUTO_TEST_CASE(the_limit_is_kept) {
  for (auto set : available()) {
    limited_to const limit(set);
    BOOST_TEST(int(tutti::detail::instructions()) == int(set));
  }
  BOOST_TEST(int(tutti::detail::instructions()) == int(tutti::detail::available_instructions()));
  tutti::detail::limit_instructions(instruction_set::avx512);  // limited by the processor
  BOOST_TEST(int(tutti::detail::instructions()) == int(tutti::detail::available_instructions()));
}

}  // namespace
