// SPDX-License-Identifier: Apache-2.0
// test: address thread optimised
#include <laws/crossed.hpp>
#include <support/hosts_too.hpp>
#include <support/worlds.hpp>
#include <tutti/progress_thread.hpp>

#include <latch>
#include <thread>

namespace {

constexpr std::size_t large = 4'000'000;  // more than any transport buffers

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_serves_what_was_started_elsewhere, Transport, support::transports) {
  support::agree<Transport>(2, [](auto& world) { return laws::crossed_pair(world, 1); });
  support::agree<Transport>(2, [](auto& world) { return laws::crossed_pair(world, large); });
  support::agree<Transport>(3, [](auto& world) { return laws::crossed_pair(world, 100'000); });
}
BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_serves_what_was_started_on_other_hosts, Transport, support::only_hosts) {
  support::agree<Transport>(4, [](auto& world) { return laws::crossed_pair(world, large); });
}

// A fault ends only operations of its communicator, even while the rank waits in another. Rank 0 does not advance
// `sum_a` while rank 1 has it in flight, so it cannot complete before rank 1 gives it up.
BOOST_AUTO_TEST_CASE(a_fault_belongs_to_the_operations_of_its_communicator) {
  std::latch start_latch(1);
  std::latch cancel_latch(1);
  support::agree<tutti::loopback>(2, [&](auto& world) -> std::string {
    auto a = tutti::split(world, 0);
    tutti::allreduce sum_a{a, tutti::ring{}, tutti::sum<int>{}};
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> x(large, 1);
    std::vector<int> y(large, 1);
    if (world.rank() == 1) {
      start_latch.wait();
      { auto request = sum_a.start(x); }
      cancel_latch.count_down();
      sum(y);
      return y.back() == 2 ? "" : "another sum";
    }
    auto pending = sum_a.start(x);
    start_latch.count_down();
    cancel_latch.wait();
    sum(y);
    if (y.back() != 2) {
      return "another sum";
    }
    try {
      pending.wait();
      return "the operation that was given up has ended well";
    } catch (tutti::error const& e) {
      return e.kind() == tutti::failure::cancelled && e.at_fault() == std::vector<tutti::rank_type>{1} ? "" : e.what();
    }
  });
}

// A communicator may be handed to another thread with an operation in flight. The previous thread, waiting elsewhere,
// then leaves it alone.
BOOST_AUTO_TEST_CASE(what_another_thread_goes_on_with_is_its_own) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    auto a = tutti::split(world, 0);
    tutti::allreduce sum_a{a, tutti::ring{}, tutti::sum<int>{}};
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    for (int turn = 0; turn < 20; ++turn) {
      std::vector<int> x(100'000, 1);
      std::vector<int> y(100'000, 1);
      auto pending = sum_a.start(x);
      std::jthread next([&] {
        pending.wait();
        sum_a(x);
        pending = sum_a.start(x);
      });
      sum(y);
      sum(y);
      next.join();
      sum(y);  // takes over the operation that the other thread started
      pending.wait();
      if (x != std::vector(x.size(), 8) || y != std::vector(y.size(), 8)) {
        return "another sum";
      }
    }
    return {};
  });
}

BOOST_AUTO_TEST_CASE(a_progress_thread_keeps_its_communicator) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    auto a = tutti::split(world, 0);
    tutti::allreduce sum_a{a, tutti::ring{}, tutti::sum<int>{}};
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    for (int turn = 0; turn < 10; ++turn) {
      std::vector<int> x(300'000, 1);
      std::vector<int> y(300'000, 1);
      std::vector<int> z(300'000, 1);
      auto pending = sum_a.start(x);
      tutti::request second_request;
      {
        tutti::progress_thread background{a};
        sum(y);
        {
          auto const pause = background.pause();
          second_request = sum_a.start(z);
        }
        sum(y);
      }
      pending.wait();
      second_request.wait();
      if (x != std::vector(x.size(), 2) || y != std::vector(y.size(), 4) || z != std::vector(z.size(), 2)) {
        return "another sum";
      }
    }
    return {};
  });
}
