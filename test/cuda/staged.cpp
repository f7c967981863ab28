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
#include <tutti/cuda/staged_transport.hpp>
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
using transport = cuda::staged_transport<tutti::loopback>;
static_assert(tutti::stages_devices<transport> && !tutti::maps_devices<transport>);
static_assert(tutti::notices_messages<transport>);

[[nodiscard]] std::vector<float> make_numbers(std::size_t n, rank_type r) {
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
    tutti::world_options<transport> options;
    options.transport.slot_bytes = 4096;
    auto const results = tutti::spawn<transport>(
        n,
        [n](auto& world) -> std::string {
          std::size_t const count = 10'007;
          rank_type const me = world.rank();
          std::size_t const block_size = tutti::block_size(count, n, me);
          cuda::stream const stream;
          cuda::array<float> const input(count);
          cuda::array<float> const output(count);
          cuda::array<float> const block(block_size);
          tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
          tutti::reduce to_one{world, tutti::direct{}, tutti::sum<float>{}};
          tutti::reduce_scatter scatter{world, tutti::ring{}, tutti::sum<float>{}};
          tutti::allgather gather{world, tutti::ring{}};
          tutti::broadcast share{world, tutti::direct{}};
          auto const numbers = make_numbers(count, me);
          std::vector<float> total(count);
          std::vector<float> part(block_size);
          std::vector<float> full_sum(count);
          sum(numbers, total);
          scatter(numbers, part);
          gather(part, full_sum);
          input.copy_from(numbers, stream);
          sum.enqueue(input, output, stream);
          scatter.enqueue(input, block, stream);
          std::vector<float> host_values(count);
          std::vector<float> block_values(block_size);
          cuda::wait(world, stream);
          output.copy_to(host_values, stream);
          block.copy_to(block_values, stream);
          gather.enqueue(block, output, stream);
          cuda::wait(world, stream);
          std::string wrong = host_values == total && block_values == part ? "" : "a sum ";
          output.copy_to(host_values, stream);
          to_one.enqueue(input, 0, stream);
          share.enqueue(input, 0, stream);
          cuda::wait(world, stream);
          wrong += host_values == full_sum ? "" : "allgather ";
          std::vector<float> root_values = numbers;
          to_one(root_values, 0);
          share(root_values, 0);
          input.copy_to(host_values, stream);
          stream.wait();
          return wrong + (host_values == root_values ? "" : "reduce and broadcast");
        },
        options);
    for (auto const& result : results) {
      BOOST_TEST(result.value() == "");
    }
  }
}

/// Freeing memory waits for all streams of the GPU; two streams are held until they learn that the rank has left.
BOOST_AUTO_TEST_CASE(a_rank_that_has_left) {
  if (!has_device()) {
    return;
  }
  tutti::world_options<transport> options;
  options.deadline = std::chrono::seconds(60);
  auto const begin_time = std::chrono::steady_clock::now();
  auto const errors = laws::complaints(
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
      options);
  for (rank_type const r : {0U, 1U}) {
    BOOST_TEST(laws::has(errors[r], "peer lost"), errors[r]);
    BOOST_TEST(laws::has(errors[r], "rank 2"), errors[r]);
  }
  BOOST_TEST((std::chrono::steady_clock::now() - begin_time < std::chrono::seconds(30)), "long before the deadline");
}
