// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip
//
// Operations on GPU memory staged through the host's have the bits of operations on host memory.
#include <cuda/device.hpp>
#include <cuda/device_array.hpp>
#include <laws/complaints.hpp>
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/cuda/array.hpp>
#include <tutti/cuda/staged.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace {

namespace cuda = tutti::cuda;
using tutti::rank_type;
using transport = cuda::staged<tutti::loopback>;
static_assert(tutti::stages_devices<transport> && !tutti::maps_devices<transport>);

[[nodiscard]] std::vector<float> drawn(std::size_t n, rank_type r) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i != n; ++i) {
    v[i] = static_cast<float>((i * 7919 + r * 104729) % 4096) / static_cast<float>(1 + i % 37);
  }
  return v;
}

}  // namespace

BOOST_AUTO_TEST_CASE(values) {
  if (!has_device()) {
    return;
  }
  for (rank_type const n : {1U, 2U, 3U}) {
    tutti::world_options<transport> o;
    o.transport.slot_bytes = 4096;
    auto const results = tutti::spawn<transport>(
        n,
        [n](auto& world) -> std::string {
          std::size_t const count = 10'007;
          rank_type const me = world.rank();
          std::size_t const own = tutti::block_size(count, n, me);
          cuda::stream const stream;
          cuda::array<float> const in(count);
          cuda::array<float> const out(count);
          cuda::array<float> const block(own);
          tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
          tutti::reduce to_one{world, tutti::direct{}, tutti::sum<float>{}};
          tutti::reduce_scatter scatter{world, tutti::ring{}, tutti::sum<float>{}};
          tutti::allgather gather{world, tutti::ring{}};
          tutti::broadcast share{world, tutti::direct{}};
          auto const mine = drawn(count, me);
          std::vector<float> total(count);
          std::vector<float> part(own);
          std::vector<float> gathered(count);
          sum(mine, total);
          scatter(mine, part);
          gather(part, gathered);
          in.copy_from(mine, stream);
          sum.enqueue(in, out, stream);
          scatter.enqueue(in, block, stream);
          std::vector<float> here(count);
          std::vector<float> block_here(own);
          cuda::wait(world, stream);
          out.copy_to(here, stream);
          block.copy_to(block_here, stream);
          gather.enqueue(block, out, stream);
          cuda::wait(world, stream);
          std::string wrong = here == total && block_here == part ? "" : "a sum ";
          out.copy_to(here, stream);
          to_one.enqueue(in, 0, stream);
          share.enqueue(in, 0, stream);
          cuda::wait(world, stream);
          wrong += here == gathered ? "" : "allgather ";
          std::vector<float> reduced = mine;
          to_one(reduced, 0);
          share(reduced, 0);
          in.copy_to(here, stream);
          stream.wait();
          return wrong + (here == reduced ? "" : "reduce and broadcast");
        },
        o);
    for (auto const& one : results) {
      BOOST_TEST(one.value() == "");
    }
  }
}

/// Freeing memory waits for all streams of the GPU; two streams are held until they learn that the rank has left.
BOOST_AUTO_TEST_CASE(a_rank_that_has_left) {
  if (!has_device()) {
    return;
  }
  tutti::world_options<transport> o;
  o.deadline = std::chrono::seconds(60);
  auto const begun = std::chrono::steady_clock::now();
  auto const all = laws::complaints(
      3,
      [](auto& world) {
        cuda::stream stream;
        laws::device_array const v(std::vector<float>(100), stream);
        tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
        tutti::barrier{world, tutti::ring{}}();
        if (world.rank() != 2) {
          sum.enqueue(v, stream);
          cuda::wait(world, stream);
        }
      },
      o);
  for (rank_type const r : {0U, 1U}) {
    BOOST_TEST(laws::has(all[r], "peer lost"), all[r]);
    BOOST_TEST(laws::has(all[r], "rank 2"), all[r]);
  }
  BOOST_TEST((std::chrono::steady_clock::now() - begun < std::chrono::seconds(30)), "long before the deadline");
}
