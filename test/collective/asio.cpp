// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/operators.hpp>
#include <support/transports.hpp>
#include <support/worlds.hpp>
#include <tutti/asio.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <ctime>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace asio = boost::asio;

/// Asio's own threads release a future's result. libstdc++ counts an exception's owners out of the thread sanitizer's
/// sight, so it reports the last release as a race with a thread that read the exception before.
extern "C" char const* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "race:std::__exception_ptr::exception_ptr::_M_release";
}

namespace {

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// A coroutine awaits one operation, then another, then two at once.
template <class World>
std::string coroutine(World& world) {
  asio::io_context io;
  tutti::on_asio loop{world, io};
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<std::uint32_t>{}};
  std::string complaint = "it did not end";
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        for (std::size_t k = 0; k < 50; ++k) {
          auto v = laws::contributions<std::uint32_t>(world.rank(), k * 31, k);
          auto w = laws::contributions<std::uint32_t>(world.rank(), 10, k);
          auto pending = sum.start(w);
          co_await sum.async(v, asio::use_awaitable);
          co_await loop.async_wait(std::move(pending), asio::use_awaitable);
          if (!laws::equal_bits(v, laws::sequential(tutti::sum<std::uint32_t>{}, world.size(), k * 31, k)) ||
              !laws::equal_bits(w, laws::sequential(tutti::sum<std::uint32_t>{}, world.size(), 10, k))) {
            throw std::runtime_error("operation " + std::to_string(k) + " is wrong");
          }
        }
      },
      [&](std::exception_ptr failure) {
        complaint.clear();
        try {
          if (failure) {
            std::rethrow_exception(failure);
          }
        } catch (std::exception const& e) {
          complaint = e.what();
        }
      });
  io.run();
  return complaint;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_coroutine_awaits_operations) {
  for (tutti::rank_type const n : {1U, 2U, 5U}) {
    support::agree<tutti::loopback>(n, [](auto& world) { return coroutine(world); });
  }
  support::agree<tutti::tcp>(3, [](auto& world) { return coroutine(world); });
}

BOOST_AUTO_TEST_CASE(a_callback_and_a_future_get_the_result) {
  support::agree<tutti::loopback>(3, [](auto& world) -> std::string {
    asio::io_context io;
    tutti::on_asio loop{world, io};
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> a(100, 1);
    std::vector<int> b(100, 2);
    bool has_succeeded = false;
    sum.async(a, [&](std::exception_ptr failure) { has_succeeded = !failure; });
    std::future<void> future = sum.async(b, asio::use_future);
    io.run();
    future.get();
    return has_succeeded && a[99] == 3 && b[99] == 6 ? "" : "wrong";
  });
}

BOOST_AUTO_TEST_CASE(a_wait_burns_no_processor_time) {
  auto const results = tutti::spawn<tutti::loopback>(2, [](auto& world) {
    asio::io_context io;
    tutti::on_asio loop{world, io};
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> v(10000, 1);
    double cpu_time = 0;
    if (world.rank() == 1) {  // computes while rank 0 waits
      double const end = cpu_seconds() + 0.3;
      while (cpu_seconds() < end) {
      }
    }
    double const begin = cpu_seconds();
    sum.async(v, [&](std::exception_ptr) { cpu_time = cpu_seconds() - begin; });
    io.run();
    return cpu_time;
  });
  BOOST_TEST(results[0].value() < 0.1);
}

BOOST_AUTO_TEST_CASE(a_failure_reaches_what_awaits) {
  auto const results = tutti::spawn<tutti::loopback>(2, [](auto& world) {
    asio::io_context io;
    tutti::on_asio loop{world, io};
    if (world.rank() == 1) {
      throw std::runtime_error("gone");
    }
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> v(10000, 1);
    std::future<void> future = sum.async(v, asio::use_future);
    io.run();
    future.get();
  });
  BOOST_TEST((results[0].failure().kind == tutti::failure::peer_lost), results[0].failure().text);
}

BOOST_AUTO_TEST_CASE(the_deadline_holds_without_a_wait) {
  auto const results = tutti::spawn<tutti::loopback>(2, [](auto& world) {
    asio::io_context io;
    tutti::on_asio loop{world, io};
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    sum.deadline(std::chrono::milliseconds(100));
    std::vector<int> v(10000, 1);
    while (world.rank() == 1 && !world.transport().fault()) {
      std::this_thread::yield();
    }
    std::future<void> future = sum.async(v, asio::use_future);
    io.run();
    future.get();
  });
  for (auto const& r : results) {
    BOOST_TEST((r.failure().kind == tutti::failure::deadline), r.failure().text);
  }
}

/// A rank with an operation in flight forks a child, and the child continues to run the event loop.
template <class World>
std::string forks(World& world) {
  asio::io_context io;
  tutti::on_asio loop{world, io};
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
  std::vector<int> v(1000, 1);
  int success_count = 0;
  auto const await = [&] { sum.async(v, [&](std::exception_ptr failure) { success_count += failure ? 0 : 1; }); };
  tutti::send go{world};
  tutti::recv wait_to_go{world};
  int token = 0;
  if (world.rank() == 1) {
    wait_to_go(std::span(&token, 1), 0);
    await();
    io.run();
    return success_count == 1 && v[999] == 2 ? "" : "wrong";
  }
  await();
  io.run_for(std::chrono::milliseconds(30));  // the loop sleeps by then
  io.notify_fork(asio::io_context::fork_prepare);
  ::pid_t const child = ::fork();
  if (child == 0) {
    try {
      io.notify_fork(asio::io_context::fork_child);
      asio::steady_timer timer(io, std::chrono::milliseconds(1));
      bool has_rung = false;
      timer.async_wait([&](boost::system::error_code) { has_rung = true; });
      io.run();  // returns, as the child awaits no operation
      ::_exit(has_rung && success_count == 0 ? 0 : 1);
    } catch (...) {
      ::_exit(2);
    }
  }
  io.notify_fork(asio::io_context::fork_parent);
  int status = -1;
  ::waitpid(child, &status, 0);
  go(std::span(&token, 1), 1);
  io.run();
  return status == 0 && success_count == 1 && v[999] == 2 ? "" : "status " + std::to_string(status);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_forked_child_goes_on_with_the_event_loop_alone, Transport,
                              support::transports_of_processes) {
  support::agree<Transport>(2, [](auto& world) { return forks(world); });
}

BOOST_AUTO_TEST_CASE(a_handler_or_a_reduction_may_end_the_loop) {
  for (bool const ends_in_reduction : {false, true}) {
    support::agree<tutti::loopback>(2, [=](auto& world) -> std::string {
      asio::io_context io;
      std::optional<tutti::on_asio<std::remove_reference_t<decltype(world)>>> loop(std::in_place, world, io);
      auto const fold = tutti::reduce_with<int>(
          [&](int a, int b) {
            if (ends_in_reduction && world.rank() == 0) {
              loop.reset();
            }
            return a + b;
          },
          0, tutti::commutative);
      tutti::allreduce sum{world, tutti::ring{}, fold};
      std::vector<int> v(1000, 1);
      std::string end = "not called";
      try {
        sum.async(v, [&](std::exception_ptr failure) {
          end = failure ? "failed" : "called";
          loop.reset();
        });
      } catch (tutti::precondition_error const&) {  // the reduction ran within `async`
      }
      io.run();
      bool const ends_on_this_rank = ends_in_reduction && world.rank() == 0;  // rank 1 may have received all it needs
      return end == (ends_on_this_rank ? "not called" : "called") || (ends_in_reduction && end == "failed") ? "" : end;
    });
  }
}

BOOST_AUTO_TEST_CASE(cancelling_gives_the_operation_up_everywhere) {
  auto const results = tutti::spawn<tutti::loopback>(2, [](auto& world) {
    asio::io_context io;
    tutti::on_asio loop{world, io};
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> v(10000, 1);
    if (world.rank() == 1) {
      while (!world.transport().fault()) {
        std::this_thread::yield();
      }
      sum(v);
    }
    asio::cancellation_signal stop;
    std::exception_ptr failure;
    sum.async(v, asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr reason) { failure = reason; }));
    asio::post(io, [&] { stop.emit(asio::cancellation_type::terminal); });
    io.run();
    std::rethrow_exception(failure);
  });
  for (auto const& r : results) {
    BOOST_TEST((r.failure().kind == tutti::failure::cancelled), r.failure().text);
    BOOST_TEST((r.failure().at_fault == std::vector<tutti::rank_type>{0}), r.failure().text);
  }
}
