// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
//
// The laws of operators, with messages of one slot, shorter ones, and rendezvous. Buffers are overwritten as soon as
// they have been released.
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <support/rdma_device.hpp>
#include <support/worlds.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/verbs/verbs.hpp>

namespace {

using topologies = laws::topologies<tutti::ring, tutti::binary_tree, tutti::butterfly>;

/// Returns the first complaint of check(world, topology, count, segment).
template <class Check>
void over_some_topologies(Check check) {
  for (tutti::rank_type const n : {2U, 3U}) {
    support::agree<tutti::verbs>(n, [&](auto& world) {
      return topologies::first_complaint([&](auto topology) {
        std::string complaint = check(world, topology, 64, 96);
        complaint = complaint.empty() ? check(world, topology, 4099, 1000) : complaint;
        return complaint.empty() ? check(world, topology, 20'011, 0) : complaint;
      });
    });
  }
}

/// Equal blocks in the operations without segments, and drawn ones in the others.
tutti::partition some_blocks(tutti::rank_type n, std::size_t count, std::size_t segment) {
  return segment == 0 ? laws::equal_blocks(count, n) : laws::drawn_blocks(n, static_cast<std::uint32_t>(count));
}

template <class R>
void reduce(R reduction) {
  over_some_topologies(
      [&]<class Topology>(auto& world, Topology topology, std::size_t count, std::size_t segment) -> std::string {
        std::string complaint;
        if constexpr (laws::reduces_over<Topology, tutti::op::allreduce, R>) {
          complaint = laws::allreduce(world, topology, reduction, count, segment);
        }
        if constexpr (laws::reduces_over<Topology, tutti::op::reduce, R>) {
          complaint += laws::reduce(world, topology, reduction, count, segment, world.size() / 2);
        }
        if constexpr (laws::reduces_over<Topology, tutti::op::reduce_scatter, R>) {
          tutti::partition const blocks = some_blocks(world.size(), count, segment);
          complaint += laws::reduce_scatter(world, topology, reduction, blocks, segment, blocks);
        }
        return complaint;
      });
}

BOOST_AUTO_TEST_CASE(sums) {
  reduce(tutti::sum<float>{});
}
BOOST_AUTO_TEST_CASE(accumulators_that_are_no_elements) {
  reduce(laws::wide_mean{});
}
BOOST_AUTO_TEST_CASE(rank_order) {
  reduce(laws::composition{});
}
BOOST_AUTO_TEST_CASE(what_is_moved) {
  using laws::triple;
  over_some_topologies(
      []<class Topology>(auto& world, Topology topology, std::size_t count, std::size_t segment) -> std::string {
        std::string complaint;
        tutti::partition const blocks = some_blocks(world.size(), count, segment);
        if constexpr (tutti::offers<Topology, tutti::op::broadcast>) {
          complaint = laws::broadcast<triple>(world, topology, count, segment, world.size() / 2);
        }
        if constexpr (tutti::offers<Topology, tutti::op::allgather>) {
          complaint += laws::allgather<triple>(world, topology, blocks, segment, blocks);
        }
        if constexpr (tutti::offers<Topology, tutti::op::gather>) {
          complaint += laws::gather<triple>(world, topology, blocks, segment, world.size() / 2, blocks);
        }
        if constexpr (tutti::offers<Topology, tutti::op::scatter>) {
          complaint += laws::scatter<triple>(world, topology, blocks, segment, world.size() / 2, blocks);
        }
        return complaint;
      });
}

}  // namespace
