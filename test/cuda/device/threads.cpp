// SPDX-License-Identifier: Apache-2.0
// test: thread (ranks and groups are threads that share memory)
//
// Groups of real threads: the thread sanitizer checks that ranks read only after the writer's signal.
#include <laws/device.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <boost/test/unit_test.hpp>

#include <array>

BOOST_AUTO_TEST_CASE(allreduce) {
  using enum tutti::schedule_kind;
  constexpr std::array kinds{ring, doubling, butterfly, direct, binary_tree};
  for (auto const kind : kinds) {
    for (tutti::rank_type const n : {2U, 3U, 4U}) {
      for (bool const in_place : {false, true}) {
        laws::device_case<tutti::op::allreduce, tutti::sum<float>> const c{{}, {}, n, 257, in_place};
        for (bool const apart : {false, true}) {
          BOOST_TEST(laws::device_has_bits_of_engine(c, tutti::selection(kind), {1, 2, 0, 2, apart}) == "");
        }
      }
    }
  }
}
