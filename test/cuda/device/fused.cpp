// SPDX-License-Identifier: Apache-2.0
// test: address (fibers of one thread)
//
// The fused forms of `direct` have the engine's bits, in every order of their threads.
#include <laws/device.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>

namespace {

using tutti::rank_type;

template <class R, rank_type... N>
void check_all_layouts(R reduction, std::integer_sequence<rank_type, N...>) {
  std::uint64_t seed = 0;
  for (bool const in_one_hop : {false, true}) {
    for (std::size_t const count : {std::size_t{0}, std::size_t{1}, std::size_t{37}, std::size_t{1000}}) {
      for (std::uint32_t const in_place : {0U, 0xffffU, 0x5a6bU}) {
        for (bool const apart : {false, true}) {
          std::string const texts[] = {
              laws::fused_has_bits_of_engine<N>(reduction, count, in_place, in_one_hop, ++seed, apart)...};
          for (std::string const& text : texts) {
            BOOST_TEST(text == "");
          }
        }
      }
    }
  }
}
using few_sizes = std::integer_sequence<rank_type, 2, 3, 4, 8>;
using very_few_sizes = std::integer_sequence<rank_type, 2, 5>;

}  // namespace

BOOST_AUTO_TEST_CASE(floats) {
  check_all_layouts(tutti::sum<float>{}, few_sizes{});
}
BOOST_AUTO_TEST_CASE(halves) {
  check_all_layouts(tutti::sum<tutti::half>{}, very_few_sizes{});
}
BOOST_AUTO_TEST_CASE(a_division_at_the_end) {
  check_all_layouts(tutti::mean<float>{}, very_few_sizes{});
}
BOOST_AUTO_TEST_CASE(large_accumulators) {
  check_all_layouts(tutti::reproducible_sum<float>{}, very_few_sizes{});
}
BOOST_AUTO_TEST_CASE(accumulators_of_another_type) {
  check_all_layouts(tutti::accumulate_in<float, tutti::sum<tutti::bfloat16>>{}, very_few_sizes{});
}
