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

[[nodiscard]] tutti::world_options<transport> options_for(std::uint32_t groups, tutti::duration deadline = 60s) {
  tutti::world_options<transport> options;
  options.deadline = deadline;
  options.transport.groups = groups;
  return options;
}
struct amounts {
  static auto options_for(std::uint32_t groups, tutti::duration deadline = 60s) {
    return ::options_for(groups, deadline);
  }
  static constexpr tutti::duration short_deadline = 300ms;
  static constexpr rank_type ranks_of_a_late_one = 4;
};
using test_cases = laws::device_cases<transport, amounts>;

support::cases const streams = test_cases::streams();
support::cases const failing = test_cases::failing();

/// The texts of the errors that keep ranks from joining.
[[nodiscard]] std::vector<std::string> refusals(rank_type n, tutti::world_options<transport> const& options) {
  return complaints(
      n, [](auto&) {}, options);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_graph_is_replayed) {
  auto const errors = complaints(
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
      options_for(1));
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 2);
}

BOOST_AUTO_TEST_CASE(operations_of_the_host_go_on_beside) {
  auto const errors = complaints(
      3,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
        models::device_stream stream;
        std::vector<int> device_values(100, 1);
        std::vector<int> host_values(100, 1);
        sum.enqueue(on_device(device_values), stream);
        sum(host_values);
        sum.enqueue(on_device(device_values), stream);
        stream_wait(world, stream).run();
        require(device_values[0] == 9, "there");
        require(host_values[0] == 3, "here");
      },
      options_for(1));
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 3);
}

/// Kernels spin for another rank, forever unless they are stopped.
BOOST_AUTO_TEST_CASE(a_rank_that_leaves_ends_its_kernels) {
  models::host_driver::clock_stands = true;
  enum class event { is_late, has_left, gives_up };
  for (event const peer_event : {event::is_late, event::has_left, event::gives_up}) {
    auto const begin_time = std::chrono::steady_clock::now();
    std::atomic<bool> is_over = false;
    auto const errors = complaints(
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
          } else if (peer_event == event::gives_up) {
            world.transport().revoke({tutti::failure::cancelled, 1, 1});
          } else if (peer_event == event::is_late) {
            is_over.wait(false);
          }
        },
        options_for(1, peer_event == event::is_late ? tutti::duration(300ms) : tutti::no_deadline));
    BOOST_TEST((std::chrono::steady_clock::now() - begin_time < 30s));
    BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 2, errors[0]);
  }
  models::host_driver::clock_stands = false;
}

BOOST_AUTO_TEST_CASE(a_rank_may_leave_when_its_part_is_done) {
  auto const errors = complaints(
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
      options_for(1));
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 2, errors[0] << errors[1]);
}

BOOST_AUTO_TEST_CASE(parts_of_a_world_are_on_its_devices) {
  auto const errors = complaints(
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
      options_for(2));
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 4);
}

BOOST_AUTO_TEST_CASE(one_shows_both_calls) {
  auto const errors = laws::another_count(options_for(1));
  BOOST_TEST(has(errors[1], "x 101"), errors[1]);
  BOOST_TEST(
      std::any_of(errors.begin(), errors.end(), [](auto const& t) { return has(t, "x 100,") && has(t, "x 101,"); }),
      "one shows both calls: " << errors[0] << errors[1] << errors[2]);
}

BOOST_AUTO_TEST_CASE(a_fault_of_the_host_ends_kernels_that_wait) {
  auto const begin_time = std::chrono::steady_clock::now();
  auto const errors = complaints(
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
      options_for(1));
  BOOST_TEST(has(errors[0], "rank 1"), errors[0]);
  BOOST_TEST(has(errors[0], "gave up"), errors[0]);
  BOOST_TEST((std::chrono::steady_clock::now() - begin_time < 20s), "long before the deadline");
}

BOOST_AUTO_TEST_CASE(memory_is_the_users_again_after_a_fault) {
  for (int trial = 0; trial != 40; ++trial) {
    bool const waits = trial % 2 == 0;  // false: leaves
    auto const errors = complaints(
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
        options_for(2));
    BOOST_TEST(std::all_of(errors.begin(), errors.end(), [](auto const& t) { return t.empty() || has(t, "gave up"); }));
  }
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_on_the_device_is_refused) {
  auto const errors = complaints(
      1,
      [](auto& world) {
        tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
        models::device_stream stream;
        std::vector<float> v(100);
        std::vector<float> on_host(100);
        models::host_driver::not_here = on_host.data();
        for (bool const is_input : {false, true}) {
          std::string text;
          try {
            sum.enqueue(on_device(is_input ? on_host : v), on_device(is_input ? v : on_host), stream);
          } catch (tutti::precondition_error const& e) {
            text = e.what();
          }
          require(has(text, is_input ? "the input is not in memory of this rank's device, host 0"
                                     : "the output is not in memory of this rank's device, host 0"),
                  text);
        }
        sum.enqueue(device_span<float>(on_host.data(), 0), stream);  // an empty buffer may be anywhere
        models::host_driver::not_here = nullptr;
        sum.enqueue(on_device(v), stream);
        stream_wait(world, stream).run();
      },
      options_for(1));
  BOOST_TEST(errors[0] == "");
}

BOOST_AUTO_TEST_CASE(a_communicator_that_has_failed_says_so_again) {
  auto const errors = complaints(
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
      options_for(1));
  BOOST_TEST(has(errors[0], "mismatched call"), errors[0]);
  BOOST_TEST(has(errors[1], "mismatched call"), errors[1]);
}

BOOST_AUTO_TEST_CASE(what_keeps_ranks_from_joining) {
  for (std::string const& text : refusals(17, options_for(0))) {
    BOOST_TEST(has(text, "join failed"), text);
    BOOST_TEST(has(text, "at most 16 ranks, and there are 17"), text);
  }
  for (std::string const& text : refusals(4, options_for(9))) {  // two ranks on each device
    BOOST_TEST(has(text, "16 groups at the same time, but its 2 ranks need 9 each"), text);
  }
  auto settings = options_for(5);
  settings.transport.device = 1;
  for (std::string const& text : refusals(4, settings)) {
    BOOST_TEST(has(text, "device host 1 runs 16 groups at the same time, but its 4 ranks need 5 each"), text);
  }
  settings.transport.device = 2;
  for (std::string const& text : refusals(2, settings)) {
    BOOST_TEST(has(text, "device 2 is asked for, and there are 2"), text);
  }
  models::host_driver::left = 100'000;
  for (std::string const& text : refusals(2, options_for(1))) {
    BOOST_TEST(has(text, "rank 0: allocating "), text);
  }
  models::host_driver::left = SIZE_MAX;
}

BOOST_AUTO_TEST_CASE(nothing_is_left_behind) {
  BOOST_TEST(models::host_driver::live_allocations == 0U);
}
