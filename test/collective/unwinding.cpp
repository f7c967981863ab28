// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/operators.hpp>
#include <support/worlds.hpp>
#include <tutti/asio.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace asio = boost::asio;

BOOST_AUTO_TEST_CASE(a_functor_with_state_of_its_own_is_a_reduction) {
  support::agree<tutti::loopback>(3, [](auto& world) -> std::string {
    int modulus = 7;
    auto const add = tutti::reduce_with<int>([modulus](int a, int b) { return (a + b) % modulus; }, 0,
                                             tutti::commutative, tutti::associative);
    tutti::allreduce sum{world, tutti::ring{}, add};
    std::vector<int> v(100, 5);
    sum(v);
    auto pending = sum.start(v);
    pending.wait();
    return v.back() == 3 ? "" : "5 + 5 + 5 is 1 modulo 7, and three times that is 3, not " + std::to_string(v.back());
  });
}

BOOST_AUTO_TEST_CASE(a_reduction_that_throws_gives_the_operation_up_everywhere) {
  auto const results = tutti::spawn<tutti::loopback>(3, [](auto& world) {
    bool const throws = world.rank() == 1;
    auto const add = tutti::reduce_with<int>(
        [throws](int a, int b) { return throws ? throw std::domain_error("I cannot add") : a + b; }, 0,
        tutti::commutative);
    tutti::allreduce sum{world, tutti::ring{}, add};
    std::vector<int> v(10000, 1);
    sum(v);
  });
  BOOST_TEST(results[1].failure().text == "I cannot add");
  for (tutti::rank_type const r : {0U, 2U}) {
    BOOST_TEST((results[r].failure().kind == tutti::failure::cancelled), results[r].failure().text);
    BOOST_TEST((results[r].failure().at_fault == std::vector<tutti::rank_type>{1}), results[r].failure().text);
  }
}

/// An error on one rank is that rank's fault on all ranks, and the others get the reason.
BOOST_AUTO_TEST_CASE(an_error_of_a_ranks_own_names_that_rank) {
  for (bool const lacks_memory : {false, true}) {
    auto const results = tutti::spawn<tutti::loopback>(3, [lacks_memory](auto& world) {
      bool const throws = world.rank() == 1;
      auto const add = tutti::reduce_with<int>(
          [=](int a, int b) -> int {
            if (throws && lacks_memory) {
              throw std::bad_alloc();
            }
            return throws ? throw tutti::error(tutti::failure::cancelled, "the disk is full") : a + b;
          },
          0, tutti::commutative);
      std::vector<int> v(10000, 1);
      tutti::allreduce{world, tutti::ring{}, add}(v);
    });
    for (tutti::rank_type r = 0; r < 3; ++r) {
      auto const& failure = results[r].failure();
      if (r != 1 || !lacks_memory) {  // the rank itself still gets std::bad_alloc
        BOOST_TEST(failure.at_fault == std::vector<tutti::rank_type>{1}, failure.text);
      }
      BOOST_TEST(
          (!lacks_memory || r == 1 || failure.text.find("Cannot allocate memory; free some") != std::string::npos),
          failure.text);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_deadline_holds_however_one_waits) {
  auto const results = tutti::spawn<tutti::loopback>(2, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    sum.deadline(std::chrono::milliseconds(100));
    std::vector<int> v(1000, 1);
    while (world.rank() == 1 && !world.transport().fault()) {
      std::this_thread::yield();
    }
    auto pending = sum.start(v);
    while (!pending.wait_for(std::chrono::milliseconds(5))) {
    }
  });
  BOOST_TEST((results[0].failure().kind == tutti::failure::deadline), results[0].failure().text);
}

BOOST_AUTO_TEST_CASE(messages_of_different_pairs_do_not_wait_for_each_other) {
  support::agree<tutti::shared_memory>(3, [](auto& world) -> std::string {
    tutti::send give{world};
    tutti::recv take{world};
    std::vector<int> x(100'000, static_cast<int>(world.rank()));
    std::vector<int> y(100'000);
    std::vector<int> z(100'000);
    if (world.rank() == 0) {
      auto pending = give.start(x, 1);
      give(x, 2);
      pending.wait();
    } else if (world.rank() == 1) {
      take(y, 2);
      take(z, 0);
    } else {
      take(y, 0);
      give(y, 1);
    }
    return {};
  });
}

BOOST_AUTO_TEST_CASE(a_loop_that_goes_away_gives_up_what_it_awaited) {
  auto const results = tutti::spawn<tutti::loopback>(2, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    if (world.rank() == 1) {
      while (!world.transport().fault()) {
        std::this_thread::yield();
      }
      std::vector<int> v(10000, 1);
      sum(v);
      return;
    }
    asio::io_context io;
    tutti::on_asio loop{world, io};
    auto buffer = std::make_unique<std::vector<int>>(10000, 1);
    auto& v = *buffer;
    sum.async(v, [owner = std::move(buffer)](std::exception_ptr) {});
    io.poll_one();
  });
  BOOST_TEST((results[1].failure().kind == tutti::failure::cancelled), results[1].failure().text);
}

BOOST_AUTO_TEST_CASE(a_signal_cancels_only_what_it_was_bound_to) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    asio::io_context io;
    tutti::on_asio loop{world, io};
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> v(1000, 1);
    int success_count = 0;
    for (int k = 0; k < 10; ++k) {
      asio::cancellation_signal old;
      sum.async(v, asio::bind_cancellation_slot(old.slot(),
                                                [&](std::exception_ptr failure) { success_count += failure ? 0 : 1; }));
      io.run();
      io.restart();
      sum.async(v, [&](std::exception_ptr failure) { success_count += failure ? 0 : 1; });
      old.emit(asio::cancellation_type::all);  // its operation ended long ago
      io.run();
      io.restart();
    }
    return success_count == 20 ? "" : "only " + std::to_string(success_count) + " of 20 completed";
  });
}

BOOST_AUTO_TEST_CASE(a_handler_may_end_the_loop) {
  support::agree<tutti::loopback>(2, [](auto& world) -> std::string {
    asio::io_context io;
    auto loop = std::make_unique<tutti::on_asio<std::remove_reference_t<decltype(world)>>>(world, io);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
    std::vector<int> v(1000, 1);
    sum.async(v, [&](std::exception_ptr) { loop.reset(); });
    io.run();
    return loop == nullptr && v[0] == 2 ? "" : "wrong";
  });
}
