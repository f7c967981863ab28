// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (processes; the thread sanitizer sees nothing of what they do to each other)
//
// Operations on device memory staged through host memory, between processes. One process may be killed.
#include <laws/staged.hpp>
#include <support/forked_child.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace {

using hosts = std::tuple<tutti::shared_memory, tutti::tcp>;
using namespace std::chrono_literals;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(sums_of_floats, host, hosts) {
  for (laws::staged_shape const& shape : {laws::staged_shape{2, 4096, 8, 3}, laws::staged_shape{3, 2048, 2, 0}}) {
    std::string const wrong = laws::staged_operations<host>(shape, tutti::sum<float>{}, {0, 2501});
    BOOST_TEST(wrong == "", wrong);
  }
  std::string const wrong = laws::staged_operations<host>({2, 1 << 19, 4, 0}, tutti::sum<float>{}, {300'001});
  BOOST_TEST(wrong == "", wrong);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_that_is_killed, host, hosts) {
  using transport = models::host_staged<host>;
  tutti::world_options<transport> options;
  options.deadline = 60s;
  options.transport.slot_bytes = 4096;
  auto const begin_time = std::chrono::steady_clock::now();
  auto const results = tutti::spawn<transport>(
      3,
      [](auto& world) -> std::string {
        models::device_stream stream;
        std::vector<float> v(100'000, 1);
        tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
        try {
          for (int i = 0;; ++i) {
            sum.enqueue(models::in_device(v), stream);
            if (world.rank() == 1 && i == 2) {
              ::kill(::getpid(), SIGKILL);
            }
            tutti::detail::device::wait_for_staged(world, stream);
          }
        } catch (tutti::error const& e) {
          bool const idle = world.transport().driver().is_idle();
          while (!stream.is_done()) {  // a stream that is never released fails by the test's time limit
            std::this_thread::yield();
          }
          return (idle ? "" : "still copying; ") + std::string(tutti::name(e.kind())) + ": " + e.what();
        }
      },
      options);
  for (tutti::rank_type const r : {0U, 2U}) {
    std::string const text = results[r].value();
    BOOST_TEST(text.starts_with("peer lost"), text);
    BOOST_TEST(text.find("rank 1") != text.npos, text);
  }
  BOOST_TEST((std::chrono::steady_clock::now() - begin_time < 30s), "long before the deadline");
}

/// A child forked while an operation is under way unwinds its stack, which destroys its copy of the operator.
BOOST_AUTO_TEST_CASE_TEMPLATE(operations_go_on_in_the_parent, host, hosts) {
  using transport = models::host_staged<host>;
  tutti::world_options<transport> options;
  options.deadline = 60s;
  options.transport.slot_bytes = 4096;
  auto const results = tutti::spawn<transport>(
      2,
      [](auto& world) -> std::string {
        models::device_stream stream;
        std::vector<int> v(10'000, 1);
        auto sum =
            std::make_unique<tutti::allreduce<std::remove_reference_t<decltype(world)>, tutti::ring, tutti::sum<int>>>(
                world, tutti::ring{}, tutti::sum<int>{});
        bool child_has_ended = true;
        if (world.rank() == 0) {
          sum->enqueue(models::in_device(v), stream);
          child_has_ended = ends_in_a_forked_child([&] { sum.reset(); });
          tutti::send{world}(std::array{1}, 1);
        } else {  // the message arrives when the child has ended
          int x = 0;
          tutti::recv{world}(std::span(&x, 1), 0);
          sum->enqueue(models::in_device(v), stream);
        }
        tutti::detail::device::wait_for_staged(world, stream);
        bool const right = std::count(v.begin(), v.end(), 2) == 10'000;
        return child_has_ended && right ? "" : "the child or the operation was harmed";
      },
      options);
  for (auto const& result : results) {
    BOOST_TEST(result.value() == "");
  }
}
