// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/detail/communicator/joint_rendezvous.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/deadline.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <memory>

using namespace std::chrono_literals;
using tutti::rank_type;
using tutti::detail::thread_rendezvous;

namespace {

bool says(tutti::rank_failure const& f, std::string_view text) {
  return f.text.find(text) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_get_every_text_in_rank_order_in_every_round) {
  for (rank_type n : {1U, 2U, 3U, 8U}) {
    auto const ends = tutti::detail::run_threads(n, [](thread_rendezvous& seat) {
      int good = 0;
      for (int round = 0; round < 50; ++round) {
        auto const texts = seat.exchange(std::to_string(seat.rank()) + "/" + std::to_string(round));
        bool is_right = texts.size() == seat.size();
        for (std::size_t r = 0; is_right && r < texts.size(); ++r) {
          is_right = texts[r] == std::to_string(r) + "/" + std::to_string(round);
        }
        good += is_right ? 1 : 0;
      }
      return good;
    });
    BOOST_TEST(ends.size() == n);
    for (auto const& e : ends) {
      BOOST_TEST(e.value() == 50);
    }
  }
}

BOOST_AUTO_TEST_CASE(patience_may_be_without_end) {
  auto const ends = tutti::detail::run_threads(
      3, [](thread_rendezvous& seat) { return seat.exchange("here").size(); }, tutti::no_deadline);
  for (auto const& e : ends) {
    BOOST_TEST(e.value() == 3U);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_fails_first_fails_the_exchange_of_the_others_by_name) {
  auto const begin = tutti::steady_now();
  auto const ends = tutti::detail::run_threads(4, [](thread_rendezvous& seat) {
    if (seat.rank() == 2) {
      throw std::runtime_error("no such file");
    }
    seat.exchange("here");
  });
  BOOST_TEST((tutti::steady_now() - begin < 20s));
  BOOST_TEST((ends[2].failure().kind == tutti::failure::none));
  BOOST_TEST(ends[2].failure().text == "no such file");
  for (rank_type r : {0U, 1U, 3U}) {
    auto const& failure = ends[r].failure();
    BOOST_TEST((failure.kind == tutti::failure::join));
    BOOST_TEST(says(failure, "rank 2 failed before: no such file"), failure.text);
    BOOST_TEST((failure.at_fault == std::vector<rank_type>{2}));
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_returns_early_fails_the_exchange_of_the_others_by_name) {
  auto const ends = tutti::detail::run_threads(3, [](thread_rendezvous& seat) {
    seat.exchange("first");
    if (seat.rank() != 1) {
      seat.exchange("second");
    }
  });
  BOOST_TEST(ends[1].has_value());
  for (rank_type r : {0U, 2U}) {
    BOOST_TEST(says(ends[r].failure(), "rank 1 ended without taking part"), ends[r].failure().text);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_come_is_named_at_the_deadline) {
  std::atomic<bool> given_up{false};
  auto const ends = tutti::detail::run_threads(
      3,
      [&](thread_rendezvous& seat) {
        if (seat.rank() == 1) {
          given_up.wait(false);
        }
        try {
          seat.exchange("here");
        } catch (...) {
          if (seat.rank() == 0) {
            given_up = true;
            given_up.notify_all();
          }
          throw;
        }
        return 0;
      },
      100ms);
  for (rank_type r : {0U, 1U, 2U}) {  // includes the rank that came late
    BOOST_TEST(says(ends[r].failure(), "rank 1 of 3 did not come within 0.1 s"), ends[r].failure().text);
    BOOST_TEST((ends[r].failure().at_fault == std::vector<rank_type>{1}));
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_fails_between_exchanges_is_an_error_of_all) {
  auto const ends = tutti::detail::run_threads(3, [](thread_rendezvous& seat) {
    tutti::detail::joint_rendezvous joint(seat);
    try {
      joint.exchange("here");
      if (seat.rank() == 1) {
        throw tutti::error(tutti::failure::join, "there is no memory");
      }
      joint.exchange("ready");
    } catch (...) {
      joint.fail();
    }
  });
  for (auto const& end : ends) {
    BOOST_TEST(says(end.failure(), "there is no memory"), end.failure().text);
    BOOST_TEST((end.failure().at_fault == std::vector<rank_type>{1}));
  }
}

BOOST_AUTO_TEST_CASE(a_cancelled_thread_ends_at_a_point_of_its_own) {
  using tutti::detail::cancellation_shield;
  std::atomic<int> stage{0};
  std::atomic<bool> is_unwound{false};
  auto const ends = tutti::detail::run_threads(1, [&](thread_rendezvous&) {
    try {
      cancellation_shield const shield;
      ::pthread_cancel(::pthread_self());
      ::pthread_testcancel();
      stage = 1;
      {
        cancellation_shield const inner_shield(cancellation_shield::points::silent);
        cancellation_shield::point();
        stage = 2;
      }
      cancellation_shield::point();
      stage = 3;
    } catch (...) {
      is_unwound = tutti::detail::is_forced_unwind();
      throw;
    }
  });
  BOOST_TEST(stage == 2);
  BOOST_TEST(is_unwound);
  BOOST_TEST(!ends[0].has_value());
}

BOOST_AUTO_TEST_CASE(a_rank_that_ends_its_thread_has_failed) {
  auto const ends = tutti::detail::run_threads(2, [](thread_rendezvous& seat) {
    if (seat.rank() == 1) {
      ::pthread_exit(nullptr);
    }
    seat.exchange("here");
  });
  for (auto const& end : ends) {
    BOOST_TEST(says(end.failure(), "has ended itself (pthread_exit)"), end.failure().text);
  }
}

BOOST_AUTO_TEST_CASE(an_outcome_throws_what_the_rank_threw) {
  auto ends = tutti::detail::run_threads(3, [](thread_rendezvous& seat) -> std::unique_ptr<int> {
    if (seat.rank() == 1) {
      throw tutti::error(tutti::failure::mismatch, "different calls").set_ranks(1, {0, 2});
    }
    if (seat.rank() == 2) {
      throw 7;
    }
    return std::make_unique<int>(5);
  });
  BOOST_TEST(*std::move(ends[0]).value() == 5);  // a thread may return a move-only value
  BOOST_CHECK_EXCEPTION((void)ends[1].value(), tutti::error, [](tutti::error const& e) {
    return e.kind() == tutti::failure::mismatch && std::string(e.what()) == "different calls" &&
           e.at_fault() == std::vector<rank_type>({0, 2});
  });
  BOOST_CHECK_THROW((void)ends[2].value(), int);
  BOOST_CHECK_THROW((void)tutti::detail::run_threads(0, [](thread_rendezvous&) {}), tutti::precondition_error);
}
