// SPDX-License-Identifier: Apache-2.0
// test: address thread alone (ranks, streams and copies are threads that share memory, and wait awake for each other)
//
// Operations on device memory staged through slots of host memory have the bits of operations on host memory:
// device/staging.hpp over slot_layout.hpp and slot_memory.hpp. engine/gate.hpp opens the slots.
#include <laws/staged.hpp>
#include <support/watched.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using tutti::loopback;
using tutti::rank_type;

std::vector<rank_type> ranks() {
  return support::is_watched ? std::vector<rank_type>{1, 3} : std::vector<rank_type>{1, 2, 3, 4, 5, 6, 7, 8};
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_of_floats) {
  for (rank_type const n : ranks()) {
    bool const is_small = n % 2 != 0;
    laws::staged_shape const shape{n, is_small ? 512U : 4096U, is_small ? 1 + n % 3 : 8, is_small ? 4U : 0U};
    std::string const wrong = laws::staged_operations<loopback>(shape, tutti::sum<float>{}, {0, 1, 1537});
    BOOST_TEST(wrong == "", wrong << "; slots of " << shape.slot_bytes);
  }
}
BOOST_AUTO_TEST_CASE(means_that_are_lowered) {
  std::string const wrong = laws::staged_operations<loopback>({4, 1024, 4, 5}, tutti::mean<double>{}, {3, 2000});
  BOOST_TEST(wrong == "", wrong);
}
BOOST_AUTO_TEST_CASE(accumulators_that_are_larger) {
  for (rank_type const n : {2U, 5U}) {
    std::string const wrong =
        laws::staged_operations<loopback>({n, 2048, 2, 5}, tutti::reproducible_sum<float>{}, {7, 1501});
    BOOST_TEST(wrong == "", wrong);
  }
}
BOOST_AUTO_TEST_CASE(contributions_of_another_type) {
  std::string const wrong =
      laws::staged_operations<loopback>({3, 2048, 4, 5}, tutti::reproducible_sum<float, tutti::binned_sum>{}, {1, 800});
  BOOST_TEST(wrong == "", wrong);
}
BOOST_AUTO_TEST_CASE(nothing_is_left_behind) {
  BOOST_TEST(models::host_stager::live_pieces == 0U);
}
