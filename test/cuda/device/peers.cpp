// SPDX-License-Identifier: Apache-2.0
// test: address (device memory of a model)
//
// Ranks with model devices that run the code of every device: order, graphs, failure, joining.
#include <laws/device_cases.hpp>
#include <models/host_device.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using tutti::device_span;
using tutti::rank_type;
using transport = models::host_peers<tutti::loopback>;
using laws::complaints;
using laws::has;
using laws::require;
using models::on_device;
using tutti::detail::device::stream_wait;
using namespace std::chrono_literals;

[[nodiscard]] tutti::world_options<transport> with(std::uint32_t groups, tutti::duration deadline = 60s) {
  tutti::world_options<transport> o;
  o.deadline = deadline;
  o.transport.groups = groups;
  return o;
}
struct amounts {
  static auto with(std::uint32_t groups, tutti::duration deadline = 60s) { return ::with(groups, deadline); }
  static constexpr tutti::duration short_deadline = 300ms;
  static constexpr rank_type ranks_of_a_late_one = 4;
};
using test_cases = laws::device_cases<transport, amounts>;

support::cases const streams = test_cases::streams();
support::cases const failing = test_cases::failing();

/// The texts of the errors that keep ranks from joining.
[[nodiscard]] std::vector<std::string> refusals(rank_type n, tutti::world_options<transport> const& o) {
  return complaints(
      n, [](auto&) {}, o);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_graph_is_replayed) {
  auto const all = complaints(
      2,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<int>{}};
        tutti::broadcast share{world, tutti::ring{}};
        models::device_stream stream;
        std::vector<int> v(1000, 1);
        tutti::barrier meet{world, tutti::ring{}};
        meet();
        auto const pieces = models::host_driver::allocations.load();
        stream.record();
        sum.enqueue(on_device(v), stream);
        share.enqueue(on_device(v), 1, stream);
        auto const graph = stream.recorded_jobs();
        for (int i = 0; i != 10; ++i) {
          for (auto const& job : graph) {
            stream.enqueue(job);
          }
        }
        sum.enqueue(on_device(v), stream);
        stream_wait(world, stream).run();
        require(v[999] == 2048, "a sum of " + std::to_string(v[999]));
        require(models::host_driver::allocations == pieces, "nothing is allocated to enqueue an operation");
      },
      with(1));
  BOOST_TEST(std::count(all.begin(), all.end(), "") == 2);
}

BOOST_AUTO_TEST_CASE(operations_of_the_host_go_on_beside) {
  auto const all = complaints(
      3,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
        models::device_stream stream;
        std::vector<int> there(100, 1);
        std::vector<int> here(100, 1);
        sum.enqueue(on_device(there), stream);
        sum(here);
        sum.enqueue(on_device(there), stream);
        stream_wait(world, stream).run();
        require(there[0] == 9, "there");
        require(here[0] == 3, "here");
      },
      with(1));
  BOOST_TEST(std::count(all.begin(), all.end(), "") == 3);
}

/// Kernels spin for another rank, forever unless they are stopped.
BOOST_AUTO_TEST_CASE(a_rank_that_leaves_ends_its_kernels) {
  models::host_driver::clock_stands = true;
  enum class other { is_late, has_left, gives_up };
  for (other const what : {other::is_late, other::has_left, other::gives_up}) {
    auto const begun = std::chrono::steady_clock::now();
    std::atomic<bool> is_over = false;
    auto const all = complaints(
        2,
        [&](auto& world) {
          models::device_stream stream;
          std::vector<float> v(100);
          if (world.rank() == 0) {
            {
              tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
              sum.enqueue(on_device(v), stream);
              auto const ends = std::move(world);
            }
            is_over = true;
            is_over.notify_all();
          } else if (what == other::gives_up) {
            world.transport().revoke({tutti::failure::cancelled, 1, 1});
          } else if (what == other::is_late) {
            is_over.wait(false);
          }
        },
        with(1, what == other::is_late ? tutti::duration(300ms) : tutti::no_deadline));
    BOOST_TEST((std::chrono::steady_clock::now() - begun < 30s));
    BOOST_TEST(std::count(all.begin(), all.end(), "") == 2, all[0]);
  }
  models::host_driver::clock_stands = false;
}

BOOST_AUTO_TEST_CASE(a_rank_may_leave_when_its_part_is_done) {
  auto const all = complaints(
      2,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
        models::device_stream stream;
        std::vector<int> v(100, 1);
        for (int i = 0; i != 5; ++i) {
          sum.enqueue(on_device(v), stream);
        }
        stream_wait(world, stream).run();
        require(v[0] == 32, "a sum of " + std::to_string(v[0]));
      },
      with(1));
  BOOST_TEST(std::count(all.begin(), all.end(), "") == 2, all[0] << all[1]);
}

BOOST_AUTO_TEST_CASE(parts_of_a_world_are_on_its_devices) {
  auto const all = complaints(
      4,
      [](auto& world) {
        rank_type const me = world.rank();
        auto part = tutti::split(world, me % 2);
        require(world.transport().device_number() == static_cast<int>(me % 2), "the device of the world");
        require(part.transport().device_number() == static_cast<int>(me % 2), "the device of a part");
        tutti::allreduce sum{part, tutti::direct{}, tutti::sum<int>{}};
        models::device_stream stream;
        std::vector<int> v(10, static_cast<int>(me));
        sum.enqueue(on_device(v), stream);
        stream_wait(part, stream).run();
        require(v[0] == (me % 2 == 0 ? 2 : 4), "the sum of a part");
      },
      with(2));
  BOOST_TEST(std::count(all.begin(), all.end(), "") == 4);
}

BOOST_AUTO_TEST_CASE(one_shows_both_calls) {
  auto const all = laws::another_count(with(1));
  BOOST_TEST(has(all[1], "x 101"), all[1]);
  BOOST_TEST(std::any_of(all.begin(), all.end(), [](auto const& t) { return has(t, "x 100,") && has(t, "x 101,"); }),
             "one shows both calls: " << all[0] << all[1] << all[2]);
}

BOOST_AUTO_TEST_CASE(a_fault_of_the_host_ends_kernels_that_wait) {
  auto const begun = std::chrono::steady_clock::now();
  auto const all = complaints(
      2,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        models::device_stream stream;
        std::vector<float> v(100);
        if (world.rank() == 1) {
          world.transport().revoke({tutti::failure::cancelled, 1, 1});
          return;
        }
        sum.enqueue(on_device(v), stream);
        stream_wait(world, stream).run();
      },
      with(1));
  BOOST_TEST(has(all[0], "rank 1"), all[0]);
  BOOST_TEST(has(all[0], "gave up"), all[0]);
  BOOST_TEST((std::chrono::steady_clock::now() - begun < 20s), "long before the deadline");
}

BOOST_AUTO_TEST_CASE(memory_is_the_users_again_after_a_fault) {
  for (int trial = 0; trial != 40; ++trial) {
    bool const waits = trial % 2 == 0;  // false: leaves
    auto const all = complaints(
        3,
        [=](auto& world) {
          models::device_stream stream;
          auto v = std::make_unique<std::vector<float>>(200'000);
          try {
            tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
            for (int i = 0; i != 6; ++i) {
              sum.enqueue(on_device(*v), stream);
            }
            if (world.rank() == 2) {
              for (int i = 0; i != trial * 15; ++i) {
                std::this_thread::yield();
              }
              world.transport().revoke({tutti::failure::cancelled, 2, 2});
            }
            if (waits) {
              stream_wait(world, stream).run();
            } else {
              auto const ends = std::move(world);  // destroyed together with its last operator
            }
          } catch (tutti::error const&) {
            v.reset();  // the address sanitizer sees a kernel of another rank that still reads it
            throw;
          }
        },
        with(2));
    BOOST_TEST(std::all_of(all.begin(), all.end(), [](auto const& t) { return t.empty() || has(t, "gave up"); }));
  }
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_on_the_device_is_refused) {
  auto const all = complaints(
      1,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        models::device_stream stream;
        std::vector<float> v(100);
        std::vector<float> on_host(100);
        models::host_driver::not_here = on_host.data();
        for (bool const is_input : {false, true}) {
          std::string said;
          try {
            sum.enqueue(on_device(is_input ? on_host : v), on_device(is_input ? v : on_host), stream);
          } catch (tutti::precondition_error const& e) {
            said = e.what();
          }
          require(has(said, is_input ? "the input is not in memory of this rank's device, host 0"
                                     : "the output is not in memory of this rank's device, host 0"),
                  said);
        }
        sum.enqueue(device_span<float>(on_host.data(), 0), stream);  // an empty buffer may be anywhere
        models::host_driver::not_here = nullptr;
        sum.enqueue(on_device(v), stream);
        stream_wait(world, stream).run();
      },
      with(1));
  BOOST_TEST(all[0] == "");
}

BOOST_AUTO_TEST_CASE(a_communicator_that_has_failed_says_so_again) {
  auto const all = complaints(
      2,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        models::device_stream stream;
        std::vector<float> v(world.rank() == 1 ? 101 : 100);
        sum.enqueue(on_device(v), stream);
        for (int i = 0; i != 2; ++i) {
          try {
            stream_wait(world, stream).run();
            require(false, "it has not failed");
          } catch (tutti::error const&) {
          }
        }
        sum.enqueue(on_device(v), stream);  // throws here, too
        require(false, "an operation is put behind one that has failed");
      },
      with(1));
  BOOST_TEST(has(all[0], "mismatched call"), all[0]);
  BOOST_TEST(has(all[1], "mismatched call"), all[1]);
}

BOOST_AUTO_TEST_CASE(what_keeps_ranks_from_joining) {
  for (std::string const& one : refusals(17, with(0))) {
    BOOST_TEST(has(one, "join failed"), one);
    BOOST_TEST(has(one, "at most 16 ranks, and there are 17"), one);
  }
  for (std::string const& one : refusals(4, with(9))) {  // two ranks on each device
    BOOST_TEST(has(one, "16 groups at the same time, but its 2 ranks need 9 each"), one);
  }
  auto on_one = with(5);
  on_one.transport.device = 1;
  for (std::string const& one : refusals(4, on_one)) {
    BOOST_TEST(has(one, "device host 1 runs 16 groups at the same time, but its 4 ranks need 5 each"), one);
  }
  on_one.transport.device = 2;
  for (std::string const& one : refusals(2, on_one)) {
    BOOST_TEST(has(one, "device 2 is asked for, and there are 2"), one);
  }
  models::host_driver::left = 100'000;
  for (std::string const& one : refusals(2, with(1))) {
    BOOST_TEST(has(one, "rank 0: allocating "), one);
  }
  models::host_driver::left = SIZE_MAX;
}

BOOST_AUTO_TEST_CASE(nothing_is_left_behind) {
  BOOST_TEST(models::host_driver::live_allocations == 0U);
}
