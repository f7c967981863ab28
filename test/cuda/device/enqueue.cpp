// SPDX-License-Identifier: Apache-2.0
// test: thread (ranks, streams and groups are threads that share memory)
//
// Operators enqueued on streams of a model device have the engine's bits: device/step_table.hpp, in memory laid out by
// scratch_layout.hpp.
#include <laws/enqueued.hpp>
#include <models/host_device.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/detail/engine/device_launcher.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using transport = models::host_peers<tutti::loopback>;
namespace op = tutti::op;

template <class Op, class R, class... Topology>
void check_topologies(Op operation, R reduction, Topology const&... topology) {
  tutti::world_options<transport> options;
  options.transport.groups = 2;
  options.transport.scratch_bytes = 16384;
  BOOST_TEST(laws::enqueued_have_bits_of_engine<transport>(options, {1, 2, 3, 4}, {0, 257, 40'001}, operation,
                                                           reduction, topology...) == "");
}

}  // namespace

BOOST_AUTO_TEST_CASE(allreduce) {
  check_topologies(op::allreduce{}, tutti::sum<float>{}, tutti::direct{}, tutti::ring{}, tutti::doubling{});
}
BOOST_AUTO_TEST_CASE(allreduce_with_large_accumulators) {
  check_topologies(op::allreduce{}, tutti::reproducible_sum<float>{}, tutti::direct{}, tutti::ring{});
}
BOOST_AUTO_TEST_CASE(reduce) {
  check_topologies(op::reduce{}, tutti::sum<float>{}, tutti::direct{}, tutti::ring{});
}
BOOST_AUTO_TEST_CASE(reduce_scatter) {
  check_topologies(op::reduce_scatter{}, tutti::mean<float>{}, tutti::ring{}, tutti::butterfly{});
}
BOOST_AUTO_TEST_CASE(allgather) {
  check_topologies(op::allgather{}, tutti::sum<float>{}, tutti::ring{}, tutti::doubling{});
}
BOOST_AUTO_TEST_CASE(broadcast) {
  check_topologies(op::broadcast{}, tutti::sum<float>{}, tutti::direct{}, tutti::doubling{});
}
BOOST_AUTO_TEST_CASE(allreduce_of_other_contributions) {
  check_topologies(op::allreduce{}, tutti::accumulate_in<float, tutti::sum<tutti::bfloat16>>{}, tutti::direct{});
}
