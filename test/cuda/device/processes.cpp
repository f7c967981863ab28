// SPDX-License-Identifier: Apache-2.0
// test: address alone (device memory of a model; groups of threads wait awake for those of other processes)
//
// Ranks that are processes, each with a device of a model: they map one another's windows, everywhere at another
// address, and have the engine's bits. Memory that others have mapped is kept (lent_memory.hpp).
#include <laws/enqueued.hpp>
#include <models/host_device.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/topology/selection.hpp>
#include <tutti/transport/shared_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

namespace {

using tutti::rank_type;
using tutti::selection;
using enum tutti::schedule_kind;
using transport = models::host_peers<tutti::shared_memory>;
namespace op = tutti::op;

/// Vectors that are cut into more parts than there are groups, among others.
template <class Op, class R, class... Topology>
void on_topologies(std::vector<rank_type> const& ranks, Op what, R reduction, Topology const&... topology) {
  tutti::world_options<transport> o;
  o.transport.groups = 2;
  o.transport.scratch_bytes = 8192;
  BOOST_TEST(
      laws::enqueued_have_bits_of_engine<transport>(o, ranks, {0, 1, 257, 20'001}, what, reduction, topology...) == "");
}
std::vector<rank_type> const few{1, 2, 3, 4};
std::vector<rank_type> const many{2, 5, 8};

}  // namespace

BOOST_AUTO_TEST_CASE(allreduce_by_direct) {
  on_topologies({1, 2, 3, 4, 5, 7, 8}, op::allreduce{}, tutti::sum<float>{}, tutti::direct{});
}
BOOST_AUTO_TEST_CASE(allreduce) {
  on_topologies(few, op::allreduce{}, tutti::sum<float>{}, selection(ring), selection(doubling), selection(butterfly),
                selection(binary_tree), selection(double_tree), selection(chain), selection(star));
  on_topologies(many, op::allreduce{}, tutti::sum<float>{}, selection(ring), selection(butterfly));
}
BOOST_AUTO_TEST_CASE(allreduce_of_other_elements) {
  on_topologies({2, 3}, op::allreduce{}, tutti::sum<tutti::half>{}, selection(ring));
  on_topologies({2, 3}, op::allreduce{}, tutti::mean<double>{}, selection(doubling));
  on_topologies({2, 4}, op::allreduce{}, tutti::reproducible_sum<float>{}, tutti::direct{}, tutti::selection(ring));
  on_topologies({2, 3}, op::allreduce{}, tutti::accumulate_in<float, tutti::sum<tutti::bfloat16>>{}, tutti::direct{});
}
BOOST_AUTO_TEST_CASE(reduce) {
  on_topologies(few, op::reduce{}, tutti::sum<float>{}, selection(direct), selection(ring), selection(binary_tree));
}
BOOST_AUTO_TEST_CASE(reduce_scatter) {
  on_topologies(few, op::reduce_scatter{}, tutti::mean<float>{}, selection(ring), selection(butterfly));
}
BOOST_AUTO_TEST_CASE(allgather) {
  on_topologies(few, op::allgather{}, tutti::sum<float>{}, selection(ring), selection(doubling));
}
BOOST_AUTO_TEST_CASE(broadcast) {
  on_topologies(few, op::broadcast{}, tutti::sum<float>{}, selection(direct), selection(doubling), selection(chain));
}
