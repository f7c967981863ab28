// SPDX-License-Identifier: Apache-2.0
// test: address waits (device memory of a model; what processes do to each other no sanitizer sees)
//
// Ranks that are processes, each with a device of a model: one is killed, is late, or calls something else; groups;
// what is left of worlds that have ended.
#include <models/host_device.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/dup.hpp>
#include <tutti/collective/split.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
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
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using tutti::device_span;
using tutti::rank_type;
using transport = models::host_peers<tutti::shared_memory>;
using tutti::detail::device::stream_wait;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

template <class T>
device_span<T> on_device(std::vector<T>& v) {
  return {v.data(), v.size()};
}
[[nodiscard]] tutti::world_options<transport> with(std::uint32_t groups, tutti::duration deadline = 60s) {
  tutti::world_options<transport> o;
  o.deadline = deadline;
  o.transport.groups = groups;
  o.transport.scratch_bytes = 65536;
  return o;
}
/// What ranks say that fail, each: "" if they do not, "-" if they cannot say anything any more.
template <class F>
[[nodiscard]] std::vector<std::string> complaints(rank_type n, F const& f, tutti::world_options<transport> const& o) {
  auto const results = tutti::spawn<transport>(
      n,
      [&](auto& world) -> std::string {
        try {
          f(world);
        } catch (tutti::error const& e) {
          return std::string(tutti::name(e.kind())) + ": " + e.what();
        }
        return "";
      },
      o);
  std::vector<std::string> all;
  for (auto const& one : results) {
    all.push_back(one ? one.value() : "-");
  }
  return all;
}
[[nodiscard]] bool has(std::string const& text, std::string const& part) {
  return text.find(part) != text.npos;
}
[[nodiscard]] std::size_t descriptors() {
  auto const all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}
/// Until a process stands still, or has ended: a signal to go on that comes before does nothing.
void await_stop(pid_t process) {
  for (auto const until = clock_type::now() + 20s; clock_type::now() < until; std::this_thread::yield()) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(stat, text);
    std::size_t const name_ends = text.rfind(") ");
    if (name_ends == text.npos || text[name_ends + 2] == 'T' || text[name_ends + 2] == 'Z') {
      return;
    }
  }
}
[[nodiscard]] std::size_t device_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += has(line, "memfd:device") ? 1U : 0U;
  }
  return count;
}

}  // namespace

/// While ranks meet, or while operations are under way.
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
      auto begun = clock_type::now();
      try {
        tutti::communicator<transport> world(meet, with(2, deadline));
        tutti::allreduce by_ring{world, tutti::ring{}, tutti::sum<float>{}};
        tutti::allreduce by_direct{world, tutti::direct{}, tutti::sum<float>{}};
        models::device_stream stream;
        auto v = std::make_unique<std::vector<float>>(50'000);
        try {
          for (;;) {
            begun = clock_type::now();
            for (int i = 0; i != 4; ++i) {
              by_ring.enqueue(on_device(*v), stream);
              by_direct.enqueue(on_device(*v), stream);
            }
            stream_wait(world, stream).run();
          }
        } catch (tutti::error const&) {
          v.reset();  // a kernel that is still in it is seen by the address sanitizer, or crashes
          throw;
        }
      } catch (tutti::error const& e) {
        return (clock_type::now() - begun > deadline + 1s ? "too late: " : "") + std::string(tutti::name(e.kind())) +
               ": " + e.what();
      }
    });
    BOOST_TEST(!results[1]);
    for (rank_type const r : {0U, 2U, 3U}) {
      std::string const said = results[r].value();
      BOOST_TEST((said.starts_with("peer lost") || said.starts_with("join failed")), said);
      BOOST_TEST(has(said, "rank 1"), "trial " << trial << ", rank " << r << ": " << said);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_process_that_never_comes) {
  auto const all = complaints(
      3,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
        tutti::barrier meet{world, tutti::ring{}};
        models::device_stream stream;
        std::vector<float> v(5000, 1);
        sum.enqueue(on_device(v), stream);
        if (world.rank() != 2) {
          sum.enqueue(on_device(v), stream);
        }
        stream_wait(world, stream).run();
        meet();  // of the host: it fails, too
      },
      with(2, 1s));
  for (rank_type r = 0; r != 3; ++r) {
    BOOST_TEST(has(all[r], "deadline passed"), all[r]);
    BOOST_TEST(has(all[r], "rank 2"), all[r]);
  }
}

/// Its kernels stand still, too, and will be in other ranks' windows when it goes on.
BOOST_AUTO_TEST_CASE(a_process_that_is_stopped) {
  auto const all = complaints(
      3,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        tutti::barrier meet{world, tutti::ring{}};
        models::device_stream stream;
        std::vector<float> v(50'000, 1);
        pid_t const me = ::getpid();
        tutti::allreduce<std::remove_reference_t<decltype(world)>, tutti::ring, tutti::sum<pid_t>> told{
            world, tutti::ring{}, tutti::sum<pid_t>{}};
        std::vector<pid_t> stopped{world.rank() == 1 ? me : 0};
        told(stopped);
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
            await_stop(stopped[0]);
            ::kill(stopped[0], SIGCONT);
          }
          throw;
        }
      },
      with(2, 1s));
  for (rank_type r = 0; r != 3; ++r) {
    BOOST_TEST(has(all[r], "rank 1"), r << ": " << all[r]);
  }
}

BOOST_AUTO_TEST_CASE(another_count) {
  auto const all = complaints(
      3,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        models::device_stream stream;
        std::vector<float> v(world.rank() == 1 ? 101 : 100);
        sum.enqueue(on_device(v), stream);
        stream_wait(world, stream).run();
      },
      with(1));
  for (std::string const& one : all) {
    BOOST_TEST(has(one, "mismatched call"), one);
    BOOST_TEST(has(one, "rank 1"), one);
    BOOST_TEST(has(one, "allreduce(sum float32 x 10"), one);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_has_left) {
  auto const begun = clock_type::now();
  auto const all = complaints(
      3,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        models::device_stream stream;
        std::vector<float> v(100);
        sum.enqueue(on_device(v), stream);
        stream_wait(world, stream).run();
        if (world.rank() != 2) {
          sum.enqueue(on_device(v), stream);
          stream_wait(world, stream).run();
        }
      },
      with(1));
  BOOST_TEST(all[2] == "");
  for (rank_type const r : {0U, 1U}) {
    BOOST_TEST(has(all[r], "peer lost"), all[r]);
    BOOST_TEST(has(all[r], "rank 2"), all[r]);
  }
  BOOST_TEST((clock_type::now() - begun < 30s), "long before the deadline");
}

BOOST_AUTO_TEST_CASE(groups_of_processes) {
  auto const all = complaints(
      4,
      [](auto& world) {
        int const me = static_cast<int>(world.rank());
        auto part = tutti::split(world, world.rank() % 2);
        auto same = tutti::dup(world);
        tutti::allreduce in_part{part, tutti::direct{}, tutti::sum<int>{}};
        tutti::allreduce in_same{same, tutti::ring{}, tutti::sum<int>{}};
        models::device_stream stream;
        std::vector<int> v(1000, me);
        in_part.enqueue(on_device(v), stream);
        in_same.enqueue(on_device(v), stream);
        stream_wait(part, stream).run();
        stream_wait(same, stream).run();
        if (std::count(v.begin(), v.end(), 12) != 1000) {
          throw tutti::error(tutti::failure::protocol, "the sum is " + std::to_string(v[0]));
        }
      },
      with(2));
  BOOST_TEST(std::count(all.begin(), all.end(), "") == 4, all[0]);
}

BOOST_AUTO_TEST_CASE(a_graph_is_replayed) {
  auto const all = complaints(
      2,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<int>{}};
        models::device_stream stream;
        std::vector<int> v(30'000, 1);
        auto const pieces = models::host_driver::allocations.load();
        stream.record();
        sum.enqueue(on_device(v), stream);
        auto const graph = stream.recorded();
        for (int i = 0; i != 10; ++i) {
          stream.put(graph[0]);
        }
        sum.enqueue(on_device(v), stream);
        stream_wait(world, stream).run();
        if (v[29'999] != 2048 || models::host_driver::allocations != pieces) {
          throw tutti::error(tutti::failure::protocol, "a sum of " + std::to_string(v[29'999]));
        }
      },
      with(2));
  BOOST_TEST(std::count(all.begin(), all.end(), "") == 2, all[0]);
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_worlds) {
  auto const results = tutti::detail::run_processes(3, [](auto& meet) -> std::string {
    std::size_t files = 0;
    for (int i = 0; i != 200; ++i) {
      tutti::communicator<transport> world(meet, with(1));
      if (i % 50 == 0) {
        tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
        models::device_stream stream;
        std::vector<int> v(100, 1);
        sum.enqueue(on_device(v), stream);
        stream_wait(world, stream).run();
      }
      if (i == 1) {
        files = descriptors();
      } else if (i > 1 && (descriptors() > files || device_mappings() > 8 || models::exported_memory::count() > 6)) {
        return "world " + std::to_string(i) + ": " + std::to_string(descriptors()) + " descriptors, at first " +
               std::to_string(files) + "; " + std::to_string(device_mappings()) + " mappings";
      }
    }
    return "";
  });
  for (auto const& one : results) {
    BOOST_TEST(one.value() == "");
  }
}
