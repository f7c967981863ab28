// SPDX-License-Identifier: Apache-2.0
// test: address (fibers of one thread)
//
// Groups of threads run schedules with the engine's bits, for any number of groups and any interleaving:
// device/interpreter.hpp over block_link.hpp, and areas.hpp for ranks without common memory.
#include <laws/device.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/star.hpp>

#include <boost/test/unit_test.hpp>

#include <array>

namespace {

using enum tutti::schedule_kind;
using tutti::rank_type;

/// Runs over ranks, topologies and lengths. Numbers of groups, threads and parts, and the order, are drawn.
template <class Op, class R, class... Topology>
void check_everywhere(Op operation, R reduction, bool may_be_apart, Topology... topology) {
  std::uint64_t seed = 1;
  for (rank_type n : {1U, 2U, 3U, 4U, 5U, 7U, 8U}) {
    if constexpr (requires { operation.root; }) {
      operation.root = n / 2;
    }
    for (bool const in_place : {false, true}) {
      if (!in_place && !may_be_apart) {
        continue;
      }
      auto const check = [&](auto const& t) {
        ++seed;
        constexpr std::array<std::size_t, 5> lengths{0, 1, 13, 64, 257};
        laws::device_case<Op, R> const c{operation, reduction, n, lengths[seed % lengths.size()], in_place};
        auto const groups = static_cast<std::uint32_t>(1 + seed % 3);
        auto const threads = static_cast<std::uint32_t>(1 + seed / 3 % 2);
        auto const parts = static_cast<std::uint32_t>(groups + seed / 6 % 4);
        for (bool const apart : {false, true}) {
          BOOST_TEST(laws::device_has_bits_of_engine(c, t, {groups, threads, seed, parts, apart}) == "");
        }
      };
      (check(topology), ...);
    }
  }
}
template <class Op, class R>
void check_all_topologies(Op operation, R reduction, bool may_be_apart = true) {
  auto const topology = [](tutti::schedule_kind k) { return tutti::selection(k); };
  check_everywhere(operation, reduction, may_be_apart, topology(direct), topology(doubling), topology(ring),
                   topology(butterfly), topology(binary_tree), topology(double_tree), topology(chain), topology(star));
}

}  // namespace

BOOST_AUTO_TEST_CASE(allreduce_of_floats) {
  check_all_topologies(tutti::op::allreduce{}, tutti::sum<float>{});
}
BOOST_AUTO_TEST_CASE(allreduce_of_halves) {
  check_all_topologies(tutti::op::allreduce{}, tutti::sum<tutti::half>{});
}
BOOST_AUTO_TEST_CASE(allreduce_that_divides_at_the_end) {
  check_all_topologies(tutti::op::allreduce{}, tutti::mean<float>{});
}
BOOST_AUTO_TEST_CASE(allreduce_with_accumulators_of_another_type) {
  check_everywhere(tutti::op::allreduce{}, tutti::accumulate_in<float, tutti::sum<tutti::bfloat16>>{}, true,
                   tutti::direct{}, tutti::star{});
}
BOOST_AUTO_TEST_CASE(allreduce_with_large_accumulators) {
  check_all_topologies(tutti::op::allreduce{}, tutti::reproducible_sum<float>{});
}
BOOST_AUTO_TEST_CASE(reduce) {
  check_all_topologies(tutti::op::reduce{}, tutti::sum<float>{});
}
BOOST_AUTO_TEST_CASE(reduce_scatter) {
  check_all_topologies(tutti::op::reduce_scatter{}, tutti::sum<float>{});
}
BOOST_AUTO_TEST_CASE(allgather) {
  check_all_topologies(tutti::op::allgather{}, tutti::sum<float>{});
}
BOOST_AUTO_TEST_CASE(broadcast) {
  check_all_topologies(tutti::op::broadcast{}, tutti::sum<float>{}, false);
}
