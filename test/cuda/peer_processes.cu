// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip one_compiler (nvcc)
//
// Operations in kernels of GPUs, of ranks that are processes: the engine's bits, graphs, failure. This process itself
// does not use CUDA, or ranks that it forks could not.
#include <cuda/device.hpp>
#include <cuda/device_array.hpp>
#include <laws/device_failure.hpp>
#include <laws/enqueued.hpp>
#include <tutti/cuda/peers.hpp>
#include <tutti/detail/bootstrap/processes.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/topology/selection.hpp>
#include <tutti/transport/shared_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

namespace cuda = tutti::cuda;
namespace op = tutti::op;
using laws::complaints;
using laws::has;
using laws::require;
using tutti::rank_type;
using tutti::selection;
using enum tutti::schedule_kind;
using transport = cuda::peers<tutti::shared_memory>;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

[[nodiscard]] tutti::world_options<transport> with(std::uint32_t groups, tutti::duration deadline = 60s) {
  tutti::world_options<transport> o;
  o.deadline = deadline;
  o.transport.groups = groups;
  o.transport.scratch_bytes = 65536;
  return o;
}
/// Vectors that are cut into more parts than there are groups, among others.
template <class Op, class R, class... Topology>
void on_topologies(std::vector<rank_type> const& ranks, Op what, R reduction, Topology const&... topology) {
  auto o = with(2);
  o.transport.scratch_bytes = 8192;
  BOOST_TEST(laws::enqueued_have_bits_of_engine<transport>(o, ranks, {0, 1, 5'001}, what, reduction, topology...) ==
             "");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(on_a_device, *boost::unit_test::precondition(with_a_device<has_device_for_processes>()))

BOOST_AUTO_TEST_CASE(allreduce) {
  on_topologies({1, 2, 3}, op::allreduce{}, tutti::sum<float>{}, tutti::direct{}, selection(ring));
  on_topologies({4}, op::allreduce{}, tutti::sum<float>{}, tutti::direct{}, selection(doubling));
  on_topologies({2, 3}, op::allreduce{}, tutti::reproducible_sum<float>{}, tutti::direct{}, selection(ring));
}
BOOST_AUTO_TEST_CASE(other_operations) {
  on_topologies({2, 3}, op::reduce{}, tutti::sum<float>{}, selection(ring));
  on_topologies({2, 3}, op::reduce_scatter{}, tutti::sum<float>{}, selection(butterfly));
  on_topologies({2, 3}, op::allgather{}, tutti::sum<float>{}, selection(doubling));
  on_topologies({2, 3}, op::broadcast{}, tutti::sum<float>{}, selection(direct));
}

/// While ranks meet, or while operations are under way.
BOOST_AUTO_TEST_CASE(a_killed_process_is_named) {
  constexpr auto deadline = 30s;
  for (int trial = 0; trial != 6; ++trial) {
    auto const results = tutti::detail::run_processes(3, [=](auto& meet) -> std::string {
      std::jthread killer;
      auto const kill_soon = [&] {
        killer = std::jthread([trial] {
          for (int i = 0; i != trial * trial * 400; ++i) {
            std::this_thread::yield();
          }
          ::kill(::getpid(), SIGKILL);
        });
      };
      bool const while_ranks_meet = trial % 2 == 0;
      if (meet.rank() == 1 && while_ranks_meet) {
        kill_soon();
      }
      auto begun = clock_type::now();
      try {
        tutti::communicator<transport> world(meet, with(2, deadline));
        tutti::allreduce by_ring{world, tutti::ring{}, tutti::sum<float>{}};
        tutti::allreduce by_direct{world, tutti::direct{}, tutti::sum<float>{}};
        cuda::stream stream;
        laws::device_array const v(std::vector<float>(5'000), stream);
        for (;;) {
          begun = clock_type::now();
          by_ring.enqueue(v, stream);
          by_direct.enqueue(v, stream);
          cuda::wait(world, stream);
          if (meet.rank() == 1 && !killer.joinable()) {
            kill_soon();
          }
        }
      } catch (tutti::error const& e) {
        return (clock_type::now() - begun > deadline + 1s ? "too late: " : "") + std::string(tutti::name(e.kind())) +
               ": " + e.what();
      }
    });
    BOOST_TEST(!results[1]);
    for (rank_type const r : {0U, 2U}) {
      std::string const said = results[r].value();
      BOOST_TEST((said.starts_with("peer lost") || said.starts_with("join failed")), said);
      BOOST_TEST(has(said, "rank 1"), "trial " << trial << ", rank " << r << ": " << said);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_process_that_never_comes) {
  laws::a_rank_that_never_comes(3, with(2, 1s));
}
BOOST_AUTO_TEST_CASE(a_rank_that_has_left) {
  laws::a_rank_that_has_left(with(1));
}
BOOST_AUTO_TEST_CASE(another_count) {
  laws::another_count(with(1));
}

BOOST_AUTO_TEST_SUITE_END()
