// SPDX-License-Identifier: Apache-2.0
// test: address thread alone (ranks, streams and copies are threads, and wait awake for each other)
//
// Operations on device memory staged through host memory: several under way at once, and failures. Streams continue,
// nothing is written any more, and errors name ranks.
#include <laws/complaints.hpp>
#include <models/host_stager.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/dup.hpp>
#include <tutti/progress_thread.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/split.hpp>
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

using laws::has;
using laws::require;
using models::in_device;
using tutti::rank_type;
using transport = models::host_staged<tutti::loopback>;
using tutti::detail::device::wait_for_staged;
using namespace std::chrono_literals;

[[nodiscard]] tutti::world_options<transport> options_for(tutti::duration deadline) {
  tutti::world_options<transport> options;
  options.deadline = deadline;
  options.transport.slot_bytes = 1024;
  options.transport.slot_count = 3;
  return options;
}
template <class F>
[[nodiscard]] std::vector<std::string> complaints(rank_type n, F const& f,
                                                  tutti::world_options<transport> const& options = options_for(60s)) {
  return laws::complaints(n, f, options);
}
/// Blocks the stream's later work until `goes_on` is true.
void block(models::device_stream const& stream, std::atomic<bool> const& goes_on) {
  stream.enqueue([&goes_on] {
    while (!goes_on) {
      std::this_thread::yield();
    }
  });
}
/// Waits until a stream is done, even if no thread calls the communicator.
void drain(models::device_stream const& stream) {
  while (!stream.is_done()) {  // a stream that is never released fails by the test's time limit
    std::this_thread::yield();
  }
}
/// Progresses the rank's operations until the world has failed.
void serve_until_fault(auto& world) {
  auto const begin_time = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin_time < 10s && !world.transport().fault()) {
    world.poll();
    tutti::detail::access::state(world).probe();
    std::this_thread::yield();
  }
}
/// Waits for a stream. After a failure, expects that the stream has continued and nothing is copied any more.
void wait_or_throw(auto& world, models::device_stream const& stream) {
  try {
    wait_for_staged(world, stream);
  } catch (tutti::error const&) {
    require(world.transport().driver().is_idle(), "no copy is under way any more");
    drain(stream);
    throw;
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(operations_of_two_streams_keep_their_order) {
  models::host_stager::lateness = 20;
  auto const errors = complaints(4, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    models::device_stream first;
    models::device_stream second;
    std::vector<int> v(1000, 1);
    for (int i = 0; i != 4; ++i) {
      sum.enqueue(in_device(v), first);
      wait_for_staged(world, first);
      sum.enqueue(in_device(v), second);
      wait_for_staged(world, second);
    }
    std::vector<std::vector<int>> vectors(8, std::vector<int>(1000, 1));
    for (std::size_t i = 0; i != vectors.size(); ++i) {
      sum.enqueue(in_device(vectors[i]), i % 2 == 0 ? first : second);
    }
    wait_for_staged(world, first);
    wait_for_staged(world, second);
    require(std::count(v.begin(), v.end(), 65536) == 1000, "eight sums one after the other");
    for (auto const& vector : vectors) {
      require(std::count(vector.begin(), vector.end(), 4) == 1000, "eight sums at a time");
    }
  });
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 4, errors[0]);
}

BOOST_AUTO_TEST_CASE(what_follows_in_the_stream_sees_the_result) {
  models::host_stager::lateness = 20;
  auto const errors = complaints(3, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    models::device_stream stream;
    std::vector<int> v(2000);
    unsigned wrong = 0;
    for (int i = 0; i != 10; ++i) {
      stream.enqueue([&v] { std::fill(v.begin(), v.end(), 1); });
      sum.enqueue(in_device(v), stream);
      stream.enqueue([&] { wrong += std::count(v.begin(), v.end(), 3) == 2000 ? 0U : 1U; });
    }
    wait_for_staged(world, stream);
    require(wrong == 0, "what is behind an operation in a stream runs before its end");
  });
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 3, errors[0]);
}

BOOST_AUTO_TEST_CASE(operations_of_the_host_go_on_beside) {
  auto const errors = complaints(3, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    models::device_stream stream;
    std::vector<int> device_values(3000, 1);
    std::vector<int> host_values(100, 1);
    std::vector<int> later(100, 1);
    sum.enqueue(in_device(device_values), stream);
    auto pending = sum.start(later);
    sum(host_values);
    sum.enqueue(in_device(device_values), stream);
    wait_for_staged(world, stream);
    pending.wait();
    require(device_values[2999] == 9, "there");
    require(host_values[0] == 3, "here");
    require(later[0] == 3, "later");
  });
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 3, errors[0]);
}

BOOST_AUTO_TEST_CASE(a_thread_may_move_them_on) {
  models::host_stager::lateness = 20;
  auto const errors = complaints(3, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    models::device_stream stream;
    std::vector<int> v(3000, 1);
    {
      tutti::progress_thread background{world};
      {
        auto const lock = background.pause();
        sum.enqueue(in_device(v), stream);
        sum.enqueue(in_device(v), stream);
      }
      drain(stream);
    }
    require(v[0] == 9, "the sum of sums");
  });
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 3, errors[0]);
}

BOOST_AUTO_TEST_CASE(parts_of_a_world_are_on_its_devices) {
  auto const errors = complaints(4, [](auto& world) {
    rank_type const me = world.rank();
    auto part = tutti::split(world, me % 2);
    require(part.transport().device_number() == static_cast<int>(me % 2), "the device of a part");
    tutti::allreduce sum{part, tutti::ring{}, tutti::sum<int>{}};
    models::device_stream stream;
    std::vector<int> v(10, static_cast<int>(me));
    sum.enqueue(in_device(v), stream);
    wait_for_staged(part, stream);
    require(v[0] == (me % 2 == 0 ? 2 : 4), "the sum of a part");
  });
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 4, errors[0]);
}

BOOST_AUTO_TEST_CASE(an_operator_ends_when_its_operations_have) {
  models::host_stager::lateness = 50;
  auto const errors = complaints(3, [](auto& world) {
    models::device_stream stream;
    std::vector<int> v(3000, 1);
    auto first =
        std::make_unique<tutti::allreduce<std::remove_reference_t<decltype(world)>, tutti::ring, tutti::sum<int>>>(
            world, tutti::ring{}, tutti::sum<int>{});
    tutti::broadcast share{world, tutti::ring{}};
    for (int i = 0; i != 3; ++i) {
      first->enqueue(in_device(v), stream);
      share.enqueue(in_device(v), 1, stream);
    }
    first.reset();  // ends before the last operation of `share`
    wait_for_staged(world, stream);
    require(v[2999] == 27, "operations of an operator that is gone");
    {
      tutti::allreduce last{world, tutti::ring{}, tutti::sum<int>{}};
      last.enqueue(in_device(v), stream);
      auto new_owner = std::move(last);
      new_owner.enqueue(in_device(v), stream);
    }
    drain(stream);  // without another call
    require(v[0] == 243, "operations of operators that are gone");
  });
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 3, errors[0]);
}

BOOST_AUTO_TEST_CASE(a_rank_that_never_comes) {
  models::host_stager::lateness = 0;
  auto const errors = complaints(
      4,
      [](auto& world) {
        tutti::barrier meet{world, tutti::ring{}};
        models::device_stream stream;
        std::vector<float> v(5000, 1);
        tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
        sum.enqueue(in_device(v), stream);
        if (world.rank() != 3) {
          sum.enqueue(in_device(v), stream);
          sum.enqueue(in_device(v), stream);
        }
        wait_or_throw(world, stream);
        meet();  // a barrier of the host, which fails, too
      },
      options_for(300ms));
  for (rank_type r = 0; r != 4; ++r) {
    BOOST_TEST((has(errors[r], "deadline passed") || has(errors[r], "mismatched call")), errors[r]);
    BOOST_TEST(has(errors[r], "rank 3"), errors[r]);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_something_else) {
  auto const errors = complaints(
      3,
      [](auto& world) {
        models::device_stream stream;
        std::vector<float> v(5000, 1);
        tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
        sum.enqueue(in_device(v), stream);
        wait_or_throw(world, stream);
        if (world.rank() != 2) {
          sum.enqueue(in_device(v), stream);
          wait_or_throw(world, stream);
        } else {  // the rank is busy, with no operation to progress
          serve_until_fault(world);
        }
      },
      options_for(300ms));
  for (rank_type const r : {0U, 1U}) {
    BOOST_TEST(has(errors[r], "deadline passed"), errors[r]);
    BOOST_TEST(has(errors[r], "rank 2"), errors[r]);
    BOOST_TEST(has(errors[r], "allreduce(sum float32 x 5000, ring) #1"), errors[r]);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_whose_stream_does_not_get_there) {
  auto const errors = complaints(
      3,
      [](auto& world) {
        models::device_stream stream;
        std::vector<float> v(500, 1);
        std::atomic<bool> goes_on = world.rank() != 1;
        block(stream, goes_on);
        tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
        sum.enqueue(in_device(v), stream);
        try {
          if (world.rank() == 1) {
            serve_until_fault(world);
            goes_on = true;
          }
          wait_or_throw(world, stream);
        } catch (tutti::error const&) {
          require(v[499] == 1, "device memory is left as it is");
          throw;
        }
      },
      options_for(300ms));
  for (rank_type r = 0; r != 3; ++r) {
    BOOST_TEST(has(errors[r], "deadline passed"), errors[r]);
    BOOST_TEST(has(errors[r], "rank 1"), errors[r]);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_has_left) {
  auto const begin_time = std::chrono::steady_clock::now();
  auto const errors = complaints(3, [](auto& world) {
    models::device_stream stream;
    std::vector<float> v(100);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    if (world.rank() != 2) {
      sum.enqueue(in_device(v), stream);
      wait_or_throw(world, stream);
    }
  });
  for (rank_type const r : {0U, 1U}) {
    BOOST_TEST(has(errors[r], "peer lost"), errors[r]);
    BOOST_TEST(has(errors[r], "rank 2"), errors[r]);
    BOOST_TEST(has(errors[r], "allreduce(sum float32 x 100, ring) #0"), errors[r]);
  }
  BOOST_TEST((std::chrono::steady_clock::now() - begin_time < 30s), "long before the deadline");
}

BOOST_AUTO_TEST_CASE(another_count) {
  auto const errors = complaints(3, [](auto& world) {
    models::device_stream stream;
    std::vector<float> v(world.rank() == 1 ? 1001 : 1000);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    sum.enqueue(in_device(v), stream);
    for (int i = 0; i != 2; ++i) {
      try {
        wait_or_throw(world, stream);
        require(false, "it has not failed");
      } catch (tutti::error const&) {
      }
    }
    sum.enqueue(in_device(v), stream);  // throws here, too
    require(false, "an operation is put behind one that has failed");
  });
  for (std::string const& text : errors) {
    BOOST_TEST(has(text, "mismatched call"), text);
    BOOST_TEST(has(text, "rank 1"), text);
    BOOST_TEST(has(text, "allreduce(sum float32 x 100"), text);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_with_elements_of_its_host) {
  auto const errors = complaints(2, [](auto& world) {
    models::device_stream stream;
    std::vector<float> v(1000);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    if (world.rank() == 0) {
      sum(v);
    } else {
      sum.enqueue(in_device(v), stream);
      wait_or_throw(world, stream);
    }
  });
  for (std::string const& text : errors) {
    BOOST_TEST(has(text, "mismatched call"), text);
  }
}

BOOST_AUTO_TEST_CASE(memory_is_the_users_again_after_a_fault) {
  for (unsigned trial = 0; trial != 20; ++trial) {
    models::host_stager::lateness = 1 + trial * 3;
    auto const errors = complaints(3, [trial](auto& world) {
      models::device_stream stream;
      auto v = std::make_unique<std::vector<float>>(20'000);
      tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
      for (int i = 0; i != 6; ++i) {
        sum.enqueue(in_device(*v), stream);
      }
      if (world.rank() == 2) {
        for (unsigned i = 0; i != trial * 20; ++i) {
          world.poll();
        }
        world.transport().revoke({tutti::failure::cancelled, 2, 2});
      }
      try {
        wait_or_throw(world, stream);
      } catch (tutti::error const&) {
        v.reset();  // the sanitizers see a copy that is still under way
        throw;
      }
    });
    BOOST_TEST(std::all_of(errors.begin(), errors.end(), [](auto const& t) { return t.empty() || has(t, "gave up"); }),
               errors[0]);
  }
  models::host_stager::lateness = 0;
}

BOOST_AUTO_TEST_CASE(operators_and_worlds_that_go_before_their_operations) {
  auto const begin_time = std::chrono::steady_clock::now();
  auto const errors = complaints(
      3,
      [](auto& world) {
        models::device_stream stream;
        std::vector<float> v(5000, 1);
        {
          tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
          sum.enqueue(in_device(v), stream);
          if (world.rank() != 0) {
            sum.enqueue(in_device(v), stream);  // rank 0 never calls it
          }
        }
        auto const new_owner = std::move(world);
      },
      options_for(300ms));
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 3, errors[1]);
  BOOST_TEST((std::chrono::steady_clock::now() - begin_time < 30s));
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_captured) {
  auto const errors = complaints(2, [](auto& world) {
    models::device_stream stream;
    std::vector<float> v(100, 1);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    stream.record();
    std::string text;
    try {
      sum.enqueue(in_device(v), stream);
    } catch (tutti::precondition_error const& e) {
      text = e.what();
    }
    require(has(text, "this stream is being captured"), text);
    require(stream.recorded_jobs().empty(), "nothing is put into a graph");
    sum.enqueue(in_device(v), stream);
    wait_for_staged(world, stream);
    require(v[99] == 2, "after the capture");
  });
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 2, errors[0]);
}

BOOST_AUTO_TEST_CASE(a_stream_that_cannot_be_held) {
  auto const errors = complaints(3, [](auto& world) {
    models::device_stream stream;
    std::vector<float> v(5000, 1);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    tutti::barrier meet{world, tutti::ring{}};
    sum.enqueue(in_device(v), stream);
    wait_for_staged(world, stream);
    meet();
    if (world.rank() == 1) {
      models::host_stager::refuses = true;
    }
    try {
      sum.enqueue(in_device(v), stream);
      wait_or_throw(world, stream);
    } catch (...) {
      models::host_stager::refuses = false;
      throw;
    }
  });
  BOOST_TEST((has(errors[1], "a stream cannot be held") || has(errors[1], "gave up")), errors[1]);
  for (std::string const& text : errors) {
    BOOST_TEST(!text.empty());
  }
}

/// Fails a device before the stream reaches an operation, or after it.
BOOST_AUTO_TEST_CASE(a_device_that_fails) {
  for (bool const fails_first : {true, false}) {
    auto const errors = complaints(3, [fails_first](auto& world) {
      models::device_stream stream;
      std::atomic<bool> goes_on = false;
      std::vector<float> v(5000, 1);
      tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
      if (fails_first) {
        block(stream, goes_on);
      }
      sum.enqueue(in_device(v), stream);
      if (!fails_first) {
        block(stream, goes_on);
      }
      try {
        models::host_stager::fails = true;
        wait_for_staged(world, stream);
      } catch (...) {
        goes_on = true;
        drain(stream);  // the device works in fact
        throw;
      }
    });
    models::host_stager::fails = false;
    for (std::string const& text : errors) {
      BOOST_TEST((has(text, "the device has failed") || has(text, "gave up")), text);
    }
    BOOST_TEST(
        std::any_of(errors.begin(), errors.end(), [](auto const& text) { return has(text, "the device has failed"); }),
        errors[0]);
  }
}

/// The stream passes a failed operation only after the operation of the other world has ended.
BOOST_AUTO_TEST_CASE(an_operator_that_has_failed_behind_another_world) {
  models::host_stager::lateness = 50;
  auto const errors = complaints(2, [](auto& world) {
    models::device_stream stream;
    std::vector<int> v(3000, 1);
    std::vector<int> w(3000, 1);
    auto other = tutti::dup(world);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    {
      tutti::allreduce fails{other, tutti::ring{}, tutti::sum<int>{}};
      sum.enqueue(in_device(v), stream);
      try {
        fails.enqueue(in_device(w), stream);
        other.transport().revoke({tutti::failure::cancelled, other.rank(), other.rank()});
        other.poll();
      } catch (tutti::error const&) {  // the other rank was faster
      }
    }
    wait_for_staged(world, stream);
    require(std::count(v.begin(), v.end(), 2) == 3000, "the sum of the world that continues");
  });
  models::host_stager::lateness = 0;
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 2, errors[0]);
}

BOOST_AUTO_TEST_CASE(an_operator_that_is_assigned_to) {
  auto const errors = complaints(2, [](auto& world) {
    models::device_stream stream;
    std::vector<int> v(3000, 1);
    auto const make_in_other_world = [&] {
      auto other = tutti::dup(world);
      return tutti::allreduce{other, tutti::ring{}, tutti::sum<int>{}};
    };
    auto idle = make_in_other_world();  // the only name of that world
    idle = tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}};
    auto sum = make_in_other_world();
    sum.enqueue(in_device(v), stream);
    sum = tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}};
    require(std::count(v.begin(), v.end(), 2) == 3000, "the sum of the operator that was assigned to");
    tutti::barrier{world, tutti::ring{}}();  // the slots of the other world are freed
    sum.enqueue(in_device(v), stream);
    wait_for_staged(world, stream);
    require(std::count(v.begin(), v.end(), 4) == 3000, "the sum of the one that it is now");
  });
  BOOST_TEST(std::count(errors.begin(), errors.end(), "") == 2, errors[0]);
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_too_small) {
  auto options = options_for(60s);
  options.transport.slot_bytes = 192;
  auto const errors = complaints(
      3,
      [](auto& world) {
        struct wide {
          double values[16];
        };
        models::device_stream stream;
        std::vector<wide> v(10);
        tutti::broadcast share{world, tutti::ring{}};
        share.enqueue(in_device(v), 0, stream);
      },
      options);
  for (std::string const& text : errors) {
    BOOST_TEST(has(text, "raise the transport's option slot_bytes"), text);
  }
}

BOOST_AUTO_TEST_CASE(what_keeps_ranks_from_joining) {
  auto options = options_for(60s);
  options.transport.slot_bytes = 100;
  for (std::string const& text : complaints(
           2, [](auto&) {}, options)) {
    BOOST_TEST(has(text, "rank 0: slot_bytes must be a multiple of 64, not 100"), text);
  }
  options = options_for(60s);
  options.transport.slot_count = 0;
  for (std::string const& text : complaints(
           2, [](auto&) {}, options)) {
    BOOST_TEST(has(text, "slot_count must be 1 or more"), text);
  }
  options = options_for(60s);
  options.transport.device = 2;
  for (std::string const& text : complaints(
           2, [](auto&) {}, options)) {
    BOOST_TEST(has(text, "device 2 is asked for, and there are 2"), text);
  }
  auto const results = tutti::detail::run_threads(2, [](auto& meet) -> std::string {
    auto rank_options = options_for(60s);
    rank_options.transport.slot_bytes = meet.rank() == 0 ? 1024 : 2048;
    try {
      tutti::communicator<transport> const world(meet, rank_options);
    } catch (tutti::error const& e) {
      return e.what();
    }
    return "";
  });
  for (auto const& text : results) {
    BOOST_TEST(has(text.value(), "rank 1 has slot_bytes = 2048, and rank 0 has 1024"), text.value());
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_left_behind) {
  BOOST_TEST(models::host_stager::live_pieces == 0U);
}
