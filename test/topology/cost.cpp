// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

// Counting is correct, and is a constant expression. The tests of each topology compare costs with closed forms.

namespace {

using tutti::rank_type;
namespace op = tutti::op;

static_assert(price(tutti::ring{}, op::allreduce{}, 4, 400, 10, 1) == 6 * (10 + 100));
static_assert(price(tutti::doubling{}, op::allreduce{}, 4, 400, 10, 1) == 2 * (10 + 400));
static_assert(price(tutti::butterfly{}, op::allreduce{}, 4, 400, 10, 1) == 4 * 10 + 2 * 300);
static_assert(cost_of(tutti::ring{}, op::allreduce{}, 4, 400).messages == 24);

// 10 elements in 4 blocks: 3, 3, 2, 2.
static_assert(tutti::detail::elements_in(10, 4, {0, 1}) == 3);
static_assert(tutti::detail::elements_in(10, 4, {1, 2}) == 5);
static_assert(tutti::detail::elements_in(10, 4, {0, 4}) == 10);
static_assert(tutti::detail::elements_in(10, 4, {3, 2}) == 5);  // wraps
static_assert(tutti::detail::elements_in(10, 4, {2, 4}) == 10);
static_assert(tutti::detail::elements_in(2, 4, {2, 2}) == 0);  // empty blocks

BOOST_AUTO_TEST_CASE(counts_vectors_that_do_not_divide) {
  // Seven ranks, ten elements: three blocks have two elements. Each block is sent 2 (n-1) times.
  auto const c = cost_of(tutti::ring{}, op::allreduce{}, rank_type{7}, 10);
  BOOST_TEST(c.traffic == 2 * 6 * 10);
  BOOST_TEST(c.elements_sent >= 2 * 6 * 10 / 7 + 1);
  BOOST_TEST(cost_of(tutti::ring{}, op::allreduce{}, rank_type{7}, 0).traffic == 0);
  BOOST_TEST(cost_of(tutti::ring{}, op::allreduce{}, rank_type{1}, 10).messages == 0);
}

// Partitions: an equal cut costs what the count costs, and no byte more or less travels than the blocks have.
BOOST_AUTO_TEST_CASE(counts_blocks_of_any_lengths) {
  tutti::partition const equal{3, 3, 2, 2};
  tutti::partition const uneven{0, 7, 1, 2};
  BOOST_TEST((cost_of(tutti::ring{}, op::allgather{}, equal) == cost_of(tutti::ring{}, op::allgather{}, 4, 10)));
  BOOST_TEST(price(tutti::star{}, op::scatter{1}, equal, 10, 1) == price(tutti::star{}, op::scatter{1}, 4, 10, 10, 1));
  BOOST_TEST(cost_of(tutti::ring{}, op::allgather{}, uneven).traffic == 3 * uneven.count());
  BOOST_TEST(cost_of(tutti::ring{}, op::reduce_scatter{}, uneven).elements_sent == uneven.count());  // rank 0 counts
  BOOST_TEST(cost_of(tutti::star{}, op::gather{1}, uneven).traffic == uneven.count() - uneven.length(1));
  BOOST_TEST(price(tutti::star{}, op::scatter{0}, uneven, 10, 1) == 10 + uneven.count());  // all leave one interface
  BOOST_TEST(price(tutti::ring{}, op::allgather{}, uneven, 10, 1) >= 3 * (10 + uneven.longest()));
}

// No topology is the best for every size, here with 1 us of latency, 10 GB/s and 16 ranks.
BOOST_AUTO_TEST_CASE(each_size_has_its_topology) {
  auto const picoseconds = [](auto topology, std::size_t bytes) {
    return price(topology, op::allreduce{}, 16, bytes, 1'000'000, 100);
  };
  BOOST_TEST(picoseconds(tutti::doubling{}, 64) < picoseconds(tutti::butterfly{}, 64));
  BOOST_TEST(picoseconds(tutti::butterfly{}, 64) < picoseconds(tutti::ring{}, 64));
  BOOST_TEST(picoseconds(tutti::butterfly{}, 1 << 24) < picoseconds(tutti::doubling{}, 1 << 24));
  BOOST_TEST(picoseconds(tutti::ring{}, 1 << 24) < picoseconds(tutti::doubling{}, 1 << 24));
}

}  // namespace
