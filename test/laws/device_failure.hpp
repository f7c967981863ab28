// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/complaints.hpp>
#include <laws/device_array.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/cuda/detail/device/launcher.hpp>
#include <tutti/cuda/detail/device/wait.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

/// Failures of operations on device memory, for ranks that are threads or processes.
namespace laws {

using tutti::rank_type;
using tutti::detail::device::stream_wait;

/// @pre the deadline is short
template <class Transport>
void a_rank_that_never_comes(rank_type n, tutti::world_options<Transport> const& options) {
  rank_type const late = n - 1;
  auto const verdicts = complaints(
      n,
      [late](auto& world) {
        tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
        tutti::barrier meet{world, tutti::ring{}};
        typename Transport::stream_type stream;
        device_array const v(std::vector<float>(5000, 1), stream);
        meet();  // allocation may wait for operations of others
        sum.enqueue(v, stream);
        if (world.rank() != late) {
          sum.enqueue(v, stream);
          sum.enqueue(v, stream);
        }
        stream_wait(world, stream).run();
        meet();  // an operation on host memory, which fails, too
      },
      options);
  for (rank_type r = 0; r != n; ++r) {
    BOOST_TEST(has(verdicts[r], "deadline passed"), verdicts[r]);
    BOOST_TEST(has(verdicts[r], "rank " + std::to_string(late)), verdicts[r]);
    BOOST_TEST((r == late || has(verdicts[r], "allreduce(sum float32 x 5000, ring) #1")), verdicts[r]);
  }
}

/// @pre the deadline is long
template <class Transport>
void a_rank_that_has_left(tutti::world_options<Transport> const& options) {
  auto const begin_time = std::chrono::steady_clock::now();
  auto const verdicts = complaints(
      3,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        typename Transport::stream_type stream;
        device_array const v(std::vector<float>(100), stream);
        tutti::barrier{world, tutti::ring{}}();
        sum.enqueue(v, stream);
        stream_wait(world, stream).run();
        if (world.rank() != 2) {
          sum.enqueue(v, stream);
          stream_wait(world, stream).run();
        }
      },
      options);
  BOOST_TEST(verdicts[2] == "");
  for (rank_type const r : {0U, 1U}) {
    BOOST_TEST(has(verdicts[r], "peer lost"), verdicts[r]);
    BOOST_TEST(has(verdicts[r], "rank 2"), verdicts[r]);
    BOOST_TEST(has(verdicts[r], "allreduce(sum float32 x 100, direct) #1"), verdicts[r]);
  }
  BOOST_TEST((std::chrono::steady_clock::now() - begin_time < std::chrono::seconds(30)), "long before the deadline");
}

/// @returns the complaints of the ranks
template <class Transport>
std::vector<std::string> another_count(tutti::world_options<Transport> const& options) {
  auto verdicts = complaints(
      3,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        typename Transport::stream_type stream;
        device_array const v(std::vector<float>(world.rank() == 1 ? 101 : 100), stream);
        tutti::barrier{world, tutti::ring{}}();
        sum.enqueue(v, stream);
        stream_wait(world, stream).run();
      },
      options);
  for (std::string const& verdict : verdicts) {
    BOOST_TEST(has(verdict, "mismatched call"), verdict);
    BOOST_TEST(has(verdict, "rank 1"), verdict);
    BOOST_TEST((has(verdict, "allreduce(sum float32 x 10") || has(verdict, "barrier(")),
               verdict);  // it may be in the barrier
  }
  return verdicts;
}

}  // namespace laws
