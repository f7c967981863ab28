// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip one_compiler (nvcc)
//
// Operations in kernels of GPUs, with ranks that are processes: the engine's bits, graphs, failure. This process does
// not use CUDA, or its forked ranks could not.
#include <cuda/device.hpp>
#include <cuda/device_array.hpp>
#include <laws/device_cases.hpp>
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
static_assert(tutti::notices_messages<transport>);
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

[[nodiscard]] tutti::world_options<transport> options_for(std::uint32_t groups, tutti::duration deadline = 60s) {
  tutti::world_options<transport> options;
  options.deadline = deadline;
  options.transport.groups = groups;
  options.transport.scratch_bytes = 65536;
  return options;
}
struct amounts {
  static auto options_for(std::uint32_t groups, tutti::duration deadline = 60s) {
    return ::options_for(groups, deadline);
  }
  static std::vector<std::size_t> counts() { return {0, 1, 5'001}; }
  static constexpr tutti::duration short_deadline = 1s;
  static constexpr rank_type ranks_of_a_late_one = 3;
};
using test_cases = laws::device_cases<transport, amounts>;

}  // namespace

BOOST_AUTO_TEST_SUITE(on_a_device, *boost::unit_test::precondition(with_a_device<has_device_for_processes>()))

support::cases const failing = test_cases::failing();

BOOST_AUTO_TEST_CASE(allreduce) {
  test_cases::on_topologies({1, 2, 3}, op::allreduce{}, tutti::sum<float>{}, tutti::direct{}, selection(ring));
  test_cases::on_topologies({4}, op::allreduce{}, tutti::sum<float>{}, tutti::direct{}, selection(doubling));
  test_cases::on_topologies({2, 3}, op::allreduce{}, tutti::reproducible_sum<float>{}, tutti::direct{},
                            selection(ring));
}
BOOST_AUTO_TEST_CASE(other_operations) {
  test_cases::on_topologies({2, 3}, op::reduce{}, tutti::sum<float>{}, selection(ring));
  test_cases::on_topologies({2, 3}, op::reduce_scatter{}, tutti::sum<float>{}, selection(butterfly));
  test_cases::on_topologies({2, 3}, op::allgather{}, tutti::sum<float>{}, selection(doubling));
  test_cases::on_topologies({2, 3}, op::broadcast{}, tutti::sum<float>{}, selection(direct));
}

/// Kills a rank while ranks meet, or while operations are under way.
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
      auto begin_time = clock_type::now();
      try {
        tutti::communicator<transport> world(meet, options_for(2, deadline));
        tutti::allreduce by_ring{world, tutti::ring{}, tutti::sum<float>{}};
        tutti::allreduce by_direct{world, tutti::direct{}, tutti::sum<float>{}};
        cuda::stream stream;
        laws::device_array const v(std::vector<float>(5'000), stream);
        for (;;) {
          begin_time = clock_type::now();
          by_ring.enqueue(v, stream);
          by_direct.enqueue(v, stream);
          cuda::wait(world, stream);
          if (meet.rank() == 1 && !killer.joinable()) {
            kill_soon();
          }
        }
      } catch (tutti::error const& e) {
        return (clock_type::now() - begin_time > deadline + 1s ? "too late: " : "") +
               std::string(tutti::name(e.kind())) + ": " + e.what();
      }
    });
    BOOST_TEST(!results[1]);
    for (rank_type const r : {0U, 2U}) {
      std::string const text = results[r].value();
      BOOST_TEST((text.starts_with("peer lost") || text.starts_with("join failed")), text);
      BOOST_TEST(has(text, "rank 1"), "trial " << trial << ", rank " << r << ": " << text);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
