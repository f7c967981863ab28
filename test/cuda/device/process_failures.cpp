// SPDX-License-Identifier: Apache-2.0
// test: address waits (device memory of a model; what processes do to each other no sanitizer sees)
//
// Ranks that are processes with model devices: one is killed, is late, or calls something else; groups; leftovers of
// worlds that have ended. kernel_watch.hpp lets hosts notice ranks that have left.
#include <laws/device_cases.hpp>
#include <models/host_device.hpp>
#include <support/forked_child.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/dup.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/shared_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using tutti::rank_type;
using transport = models::host_peers<tutti::shared_memory>;
using laws::complaints;
using laws::has;
using laws::require;
using models::on_device;
using tutti::detail::device::stream_wait;
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
  static constexpr tutti::duration short_deadline = 1s;
  static constexpr rank_type ranks_of_a_late_one = 3;
};
using test_cases = laws::device_cases<transport, amounts>;

support::cases const streams = test_cases::streams();
support::cases const failing = test_cases::failing();

[[nodiscard]] std::size_t descriptors() {
  auto const entries = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}
/// Waits until a process has stopped or ended: an earlier SIGCONT would have no effect.
void await_stop(pid_t process) {
  for (auto const end_time = clock_type::now() + 20s; clock_type::now() < end_time; std::this_thread::yield()) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(stat, text);
    std::size_t const name_ends = text.rfind(") ");
    if (name_ends == text.npos || text[name_ends + 2] == 'T' || text[name_ends + 2] == 'Z') {
      return;
    }
  }
}
pid_t victim = 0;  ///< set in the rank that kills another one

[[nodiscard]] std::size_t device_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += has(line, "memfd:device") ? 1U : 0U;
  }
  return count;
}

}  // namespace

/// Kills a rank while ranks meet, or while operations are under way.
BOOST_AUTO_TEST_CASE(a_killed_process_is_named) {
  constexpr auto deadline = 20s;
  for (int trial = 0; trial != 12; ++trial) {
    auto const results = tutti::detail::run_processes(4, [=](auto& meet) -> std::string {
      std::jthread killer;
      if (meet.rank() == 1) {
        killer = std::jthread([trial] {
          for (int i = 0; i != trial * trial * 12; ++i) {
            std::this_thread::yield();
          }
          ::kill(::getpid(), SIGKILL);
        });
      }
      auto begin_time = clock_type::now();
      try {
        tutti::communicator<transport> world(meet, options_for(2, deadline));
        tutti::allreduce by_ring{world, tutti::ring{}, tutti::sum<float>{}};
        tutti::allreduce by_direct{world, tutti::direct{}, tutti::sum<float>{}};
        models::device_stream stream;
        auto v = std::make_unique<std::vector<float>>(50'000);
        try {
          for (;;) {
            begin_time = clock_type::now();
            for (int i = 0; i != 4; ++i) {
              by_ring.enqueue(on_device(*v), stream);
              by_direct.enqueue(on_device(*v), stream);
            }
            stream_wait(world, stream).run();
          }
        } catch (tutti::error const&) {
          v.reset();  // a kernel that still uses it crashes, or the address sanitizer sees it
          throw;
        }
      } catch (tutti::error const& e) {
        return (clock_type::now() - begin_time > deadline + 1s ? "too late: " : "") +
               std::string(tutti::name(e.kind())) + ": " + e.what();
      }
    });
    BOOST_TEST(!results[1]);
    for (rank_type const r : {0U, 2U, 3U}) {
      std::string const text = results[r].value();
      BOOST_TEST((text.starts_with("peer lost") || text.starts_with("join failed")), text);
      BOOST_TEST(has(text, "rank 1"), "trial " << trial << ", rank " << r << ": " << text);
    }
  }
}

/// Stops a process and its kernels, which access other ranks' windows when it continues.
BOOST_AUTO_TEST_CASE(a_process_that_is_stopped) {
  auto const errors = complaints(
      3,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        tutti::barrier meet{world, tutti::ring{}};
        models::device_stream stream;
        std::vector<float> v(50'000, 1);
        pid_t const me = ::getpid();
        tutti::allreduce<std::remove_reference_t<decltype(world)>, tutti::ring, tutti::sum<pid_t>> share_pids{
            world, tutti::ring{}, tutti::sum<pid_t>{}};
        std::vector<pid_t> stopped_pids{world.rank() == 1 ? me : 0};
        share_pids(stopped_pids);
        try {
          sum.enqueue(on_device(v), stream);
          stream_wait(world, stream).run();
          if (world.rank() == 1) {
            ::raise(SIGSTOP);
          }
          sum.enqueue(on_device(v), stream);
          stream_wait(world, stream).run();
        } catch (tutti::error const&) {
          if (world.rank() == 0) {
            await_stop(stopped_pids[0]);
            ::kill(stopped_pids[0], SIGCONT);
          }
          throw;
        }
      },
      options_for(2, 1s));
  for (rank_type r = 0; r != 3; ++r) {
    BOOST_TEST(has(errors[r], "rank 1"), r << ": " << errors[r]);
  }
}

/// A rank leaves while its kernels spin for another one, forever unless they are stopped.
BOOST_AUTO_TEST_CASE(a_process_is_killed_while_another_leaves) {
  auto const errors = complaints(
      2,
      [](auto& world) {
        models::device_stream stream;
        std::vector<float> v(100);
        std::vector<pid_t> pids{world.rank() == 1 ? ::getpid() : 0};
        {
          tutti::allreduce share_pids{world, tutti::ring{}, tutti::sum<pid_t>{}};
          share_pids(pids);
        }
        if (world.rank() == 1) {
          for (;;) {
            ::pause();
          }
        }
        victim = pids[0];
        models::host_driver::still_waits = [] { ::kill(victim, SIGKILL); };
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        sum.enqueue(on_device(v), stream);
        auto const ends = std::move(world);
      },
      options_for(1, tutti::no_deadline));
  BOOST_TEST(errors[0] == "");
  BOOST_TEST(errors[1] == tutti::support::death_verdict);
}
BOOST_AUTO_TEST_CASE(a_process_leaves_and_another_waits_for_it) {
  auto const errors = complaints(
      2,
      [](auto& world) {
        models::device_stream stream;
        std::vector<float> v(100);
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        if (world.rank() == 0) {
          sum.enqueue(on_device(v), stream);
        }
        auto const ends = std::move(world);
      },
      options_for(1, tutti::no_deadline));
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 2, errors[0]);
}

/// A child forked while kernels are under way unwinds its stack, which destroys its copy of the world.
BOOST_AUTO_TEST_CASE(kernels_go_on_in_the_parent) {
  auto const errors = complaints(
      2,
      [](auto& world) {
        models::device_stream stream;
        std::vector<int> v(1000, 1);
        std::optional sum(tutti::allreduce{world, tutti::direct{}, tutti::sum<int>{}});
        bool child_has_ended = true;
        if (world.rank() == 0) {
          sum->enqueue(on_device(v), stream);
          child_has_ended = ends_in_a_forked_child([&] {
            auto const ends = std::move(world);
            sum.reset();
          });
        }
        tutti::barrier{world, tutti::ring{}}();  // the child has ended
        if (world.rank() == 1) {
          sum->enqueue(on_device(v), stream);
        }
        stream_wait(world, stream).run();
        require(child_has_ended && std::count(v.begin(), v.end(), 2) == 1000, "the child or the operation was harmed");
      },
      options_for(1));
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 2, errors[0] << errors[1]);
}

BOOST_AUTO_TEST_CASE(groups_of_processes) {
  auto const errors = complaints(
      4,
      [](auto& world) {
        int const me = static_cast<int>(world.rank());
        auto part = tutti::split(world, world.rank() % 2);
        auto duplicate = tutti::dup(world);
        tutti::allreduce part_sum{part, tutti::direct{}, tutti::sum<int>{}};
        tutti::allreduce duplicate_sum{duplicate, tutti::ring{}, tutti::sum<int>{}};
        models::device_stream stream;
        std::vector<int> v(1000, me);
        part_sum.enqueue(on_device(v), stream);
        duplicate_sum.enqueue(on_device(v), stream);
        stream_wait(part, stream).run();
        stream_wait(duplicate, stream).run();
        require(std::count(v.begin(), v.end(), 12) == 1000, "the sum is " + std::to_string(v[0]));
      },
      options_for(2));
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 4, errors[0]);
}

BOOST_AUTO_TEST_CASE(a_graph_is_replayed) {
  auto const errors = complaints(
      2,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<int>{}};
        models::device_stream stream;
        std::vector<int> v(30'000, 1);
        auto const pieces = models::host_driver::allocations.load();
        stream.record();
        sum.enqueue(on_device(v), stream);
        auto const graph = stream.recorded_jobs();
        for (int i = 0; i != 10; ++i) {
          stream.enqueue(graph[0]);
        }
        sum.enqueue(on_device(v), stream);
        stream_wait(world, stream).run();
        require(v[29'999] == 2048, "a sum of " + std::to_string(v[29'999]));
        require(models::host_driver::allocations == pieces, "nothing is allocated to enqueue an operation");
      },
      options_for(2));
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 2, errors[0]);
}

/// Windows, mappings and descriptors of worlds and of their parts are freed.
BOOST_AUTO_TEST_CASE(nothing_is_left_of_worlds) {
  auto const results = tutti::detail::run_processes(3, [](auto& meet) -> std::string {
    auto const sum_of = [](auto& world) {
      tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
      models::device_stream stream;
      std::vector<int> v(100, 1);
      sum.enqueue(on_device(v), stream);
      stream_wait(world, stream).run();
    };
    std::size_t files = 0;
    tutti::communicator<transport> lasting_world(meet, options_for(1));
    for (int i = 0; i != 200; ++i) {
      {
        tutti::communicator<transport> world(meet, options_for(1));
        if (i % 50 == 0) {
          sum_of(world);
        }
      }
      if (i % 4 == 0) {
        auto part = tutti::split(lasting_world, lasting_world.rank() == 2 ? 1 : 0);
        auto duplicate = tutti::dup(lasting_world);
        sum_of(part);
        sum_of(duplicate);
      }
      // The remaining world has 3 windows. Every other world had as many, and keeps its own while a peer maps it.
      if (i == 4) {
        files = descriptors();
      } else if (i > 4 &&
                 (descriptors() > files + 16 || device_mappings() > 12 || models::exported_memory::count() > 12)) {
        return "world " + std::to_string(i) + ": " + std::to_string(descriptors()) + " descriptors, at first " +
               std::to_string(files) + "; " + std::to_string(device_mappings()) + " mappings, " +
               std::to_string(models::exported_memory::count()) + " pieces";
      }
    }
    return "";
  });
  for (auto const& result : results) {
    BOOST_TEST(result.value() == "");
  }
}
