// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <laws/all_topologies.hpp>
#include <laws/late.hpp>
#include <simulation/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/recv_any.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/dup.hpp>
#include <tutti/simulation/simulate_schedule.hpp>

#include <algorithm>
#include <stdexcept>

namespace {

using namespace support;
using tutti::failure;
using tutti::picoseconds;
using tutti::rank_type;

/// Returns "" if the rank failed with this kind of error, which blames `culprit` in its list and its text.
template <class Outcome>
std::string failed_as(Outcome const& outcome, failure kind, rank_type culprit) {
  if (outcome) {
    return "it did not fail";
  }
  auto const& failure_seen = outcome.failure();
  bool const blames =
      std::find(failure_seen.at_fault.begin(), failure_seen.at_fault.end(), culprit) != failure_seen.at_fault.end();
  bool const says = failure_seen.text.find("rank " + std::to_string(culprit)) != std::string::npos;
  return failure_seen.kind == kind && blames && says ? "" : "it failed otherwise: " + failure_seen.text;
}

/// Sums repeatedly.
auto summing(auto topology, std::size_t count, int times) {
  return [=](auto& world) {
    tutti::allreduce sum{world, topology, tutti::sum<float>{}};
    std::vector<float> v(count, 1);
    for (int k = 0; k < times; ++k) {
      sum(v);
    }
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_death_is_an_error_on_all_survivors_in_bounded_time) {
  tutti::simulation_options options;
  options.faults.deaths = {{2, microseconds(500)}};
  options.faults.detection = milliseconds(3);
  auto const complaint = laws::topologies_with_aggregators::first_complaint([&](auto topology) -> std::string {
    for (std::size_t const count : {std::size_t{1}, std::size_t{100'000}}) {
      auto const world_outcome = tutti::simulate(one_switch(5, fast), 5, summing(topology, count, 1'000'000), options);
      for (rank_type r = 0; r < 5; ++r) {
        std::string const bad = failed_as(world_outcome.results[r], failure::peer_lost, 2);
        if (!bad.empty()) {
          return "rank " + std::to_string(r) + ": " + bad;
        }
        picoseconds const least = r == 2 ? microseconds(500) : milliseconds(3);
        if (world_outcome.report.end_times[r] < least || world_outcome.report.end_times[r] > milliseconds(15)) {
          return "rank " + std::to_string(r) + " heard of it at " +
                 std::to_string(world_outcome.report.end_times[r].count()) + " ps";
        }
      }
    }
    return {};
  });
  BOOST_TEST(complaint == "");
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_because_of_a_fault_elsewhere_is_not_named) {
  auto const world_outcome = tutti::simulate(one_switch(3, fast), 3, [](auto& world) {
    auto part = tutti::dup(world);
    world.transport().spend(seconds(1));  // lets all ranks make their part first
    std::vector<float> v(1000, 1);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    if (world.rank() == 2) {
      {
        auto request = sum.start(v);
      }
      world.transport().spend(seconds(60));
    } else if (world.rank() == 0) {
      sum(v);
    } else {
      tutti::allreduce{part, tutti::ring{}, tutti::sum<float>{}}(v);
    }
  });
  for (rank_type r = 0; r < 2; ++r) {
    BOOST_TEST(failed_as(world_outcome.results[r], failure::cancelled, 2) == "");
    BOOST_TEST(world_outcome.results[r].failure().at_fault == std::vector<rank_type>{2});
  }
}

BOOST_AUTO_TEST_CASE(what_has_left_a_rank_before_it_dies_arrives) {
  tutti::simulation_options options;
  options.faults.deaths = {{0, microseconds(2)}};
  auto const world_outcome = tutti::simulate(
      one_switch(2, fast), 2,
      [](auto& world) {
        std::vector<int> lost_ranks;
        if (world.rank() == 0) {
          tutti::send{world}(std::vector<int>{42}, 1);
          world.transport().spend(seconds(1));
          tutti::send{world}(std::vector<int>{43}, 1);
          return lost_ranks;
        }
        tutti::recv take{world};
        try {
          for (int x = 0;; lost_ranks.push_back(x)) {
            take(std::span(&x, 1), 0);
          }
        } catch (tutti::error const& e) {
          lost_ranks.push_back(static_cast<int>(e.at_fault().front()));
        }
        return lost_ranks;
      },
      options);
  BOOST_TEST((world_outcome.results[1].value() == std::vector<int>{42, 0}));
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_is_named) {
  auto const world_outcome = tutti::simulate(one_switch(4, fast), 4, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    std::vector<float> v(1000, 1);
    for (int k = 0; k < 20; ++k) {
      if (world.rank() == 2 && k == 10) {
        throw std::runtime_error("enough");
      }
      sum(v);
    }
  });
  BOOST_TEST(world_outcome.results[2].failure().text == "enough");
  for (rank_type const r : {0U, 1U, 3U}) {
    BOOST_TEST(failed_as(world_outcome.results[r], failure::peer_lost, 2) == "");
  }
}

BOOST_AUTO_TEST_CASE(a_receive_from_any_rank_ends_when_the_last_one_has_left) {
  auto const world_outcome = tutti::simulate(one_switch(4, fast), 4, [](auto& world) {
    rank_type value = world.rank();
    std::vector<rank_type> senders;
    if (value != 0) {
      for (rank_type k = 0; k != value; ++k) {
        tutti::send{world}(value, 0);
      }
      return senders;
    }
    try {
      for (;;) {
        senders.push_back(tutti::recv_any{world}(value));
      }
    } catch (tutti::error const& e) {
      BOOST_TEST((e.kind() == failure::peer_lost));
    }
    std::sort(senders.begin(), senders.end());
    return senders;
  });
  BOOST_TEST((world_outcome.results[0].value() == std::vector<rank_type>{1, 2, 2, 3, 3, 3}));
}

BOOST_AUTO_TEST_CASE(a_rank_that_never_joins_is_named) {
  auto const world_outcome =
      tutti::detail::run_simulated(one_switch(3, fast), 3,
                                   [](tutti::detail::simulated_rendezvous& meet, tutti::detail::simulator&) {
                                     if (meet.rank() != 1) {
                                       meet.exchange("here");
                                     }
                                   },
                                   {});
  BOOST_TEST(failed_as(world_outcome.results[0], failure::join, 1) == "");
  BOOST_TEST(failed_as(world_outcome.results[2], failure::join, 1) == "");
}

BOOST_AUTO_TEST_CASE(a_rank_that_dies_before_it_joins_is_named) {
  tutti::simulation_options options;
  options.faults.deaths = {{1, picoseconds(0)}};
  auto const world_outcome = tutti::simulate(one_switch(3, fast), 3, summing(tutti::ring{}, 1, 1), options);
  for (rank_type r = 0; r < 3; ++r) {
    BOOST_TEST(failed_as(world_outcome.results[r], failure::join, 1) == "");
  }
}

BOOST_AUTO_TEST_CASE(a_late_rank_meets_the_deadline_of_virtual_time) {
  auto const world_outcome = tutti::simulate(one_switch(2, fast), 2, [](auto& world) {
    tutti::allreduce sum{world, tutti::doubling{}, tutti::sum<float>{}};
    sum.deadline(seconds(100));
    if (world.rank() == 1) {
      world.transport().spend(std::chrono::hours(1));
    }
    float x = 1;
    sum(std::span(&x, 1));
  });
  BOOST_TEST(failed_as(world_outcome.results[0], failure::deadline, 1) == "");
  BOOST_TEST((world_outcome.results[1].failure().kind == failure::deadline));
  BOOST_TEST(
      (world_outcome.report.end_times[0] >= seconds(101) && world_outcome.report.end_times[0] < milliseconds(101'100)));
}

BOOST_AUTO_TEST_CASE(calls_that_differ_are_told) {
  auto const expect_mismatch = [](auto topology) {
    auto const world_outcome = tutti::simulate(one_switch(3, fast), 3, [&](auto& world) {
      tutti::allreduce sum{world, topology, tutti::sum<float>{}};
      std::vector<float> v(world.rank() == 1 ? 101 : 100);
      sum(v);
    });
    std::string texts;
    for (rank_type r = 0; r < 3; ++r) {
      BOOST_TEST((world_outcome.results[r].failure().kind == failure::mismatch));
      texts += world_outcome.results[r].failure().text;
    }
    BOOST_TEST(texts.find("x 100") != texts.npos);
    BOOST_TEST(texts.find("x 101") != texts.npos);
  };
  expect_mismatch(tutti::ring{});
  expect_mismatch(tutti::in_network{});  // the aggregator detects the mismatch
}

BOOST_AUTO_TEST_CASE(calls_that_never_exchange_a_message_are_told) {
  auto const world_outcome = tutti::simulate(one_switch(3, fast), 3, [](auto& world) {
    tutti::broadcast share{world, tutti::binary_tree{}};
    std::vector<float> v(100, 1);
    share(v, world.rank() == 2 ? 1 : 0);
    tutti::barrier{world, tutti::ring{}}();
  });
  for (rank_type r = 0; r < 3; ++r) {
    BOOST_TEST((world_outcome.results[r].failure().kind == failure::mismatch), world_outcome.results[r].failure().text);
  }
  BOOST_TEST((world_outcome.report.time() < seconds(1)));
}

BOOST_AUTO_TEST_CASE(a_dropped_request_is_named) {
  auto const world_outcome = tutti::simulate(one_switch(3, fast), 3, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    std::vector<float> v(100'000, 1);
    if (world.rank() == 1) {
      {
        auto request = sum.start(v);
      }
      throw std::runtime_error("dropped");
    }
    sum(v);
  });
  BOOST_TEST(failed_as(world_outcome.results[0], failure::cancelled, 1) == "");
  BOOST_TEST(failed_as(world_outcome.results[2], failure::cancelled, 1) == "");
}

// Every rank that is late is named by all others, for every topology.
BOOST_AUTO_TEST_CASE(a_late_rank_is_named_by_all_whichever_rank_they_wait_for) {
  auto const complaint = laws::topologies_with_aggregators::first_complaint([](auto topology) -> std::string {
    for (rank_type n = 3; n <= 8; ++n) {
      for (rank_type late = 0; late < n; ++late) {
        auto const world_outcome = tutti::simulate(one_switch(n, fast), n, [&](auto& world) {
          world.deadline(seconds(3));
          tutti::allreduce sum{world, topology, tutti::sum<float>{}};
          std::vector<float> v(100, 1);
          sum(v);
          if (world.rank() == late) {
            world.transport().spend(seconds(60));
          }
          sum(v);
        });
        for (rank_type r = 0; r < n; ++r) {
          if (std::string bad = laws::blames(world_outcome.results[r], r, {late}); !bad.empty()) {
            return bad;
          }
          if (r != late && world_outcome.report.end_times[r] > milliseconds(4'500)) {
            return "rank " + std::to_string(r) + " took longer than an answer and some questions";
          }
        }
      }
    }
    return {};
  });
  BOOST_TEST(complaint == "");
}

BOOST_AUTO_TEST_CASE(ranks_that_wait_for_each_other_are_named_with_their_calls) {
  auto const world_outcome = tutti::simulate(one_switch(4, fast), 4, [&](auto& world) {
    world.deadline(seconds(3));
    tutti::recv take{world};
    std::vector<int> v(world.rank() + 1);
    take(v, (world.rank() + 1) % 3);
  });
  for (rank_type r = 0; r < 4; ++r) {
    BOOST_TEST(laws::blames(world_outcome.results[r], r, {0, 1, 2}) == "");
    BOOST_TEST(
        world_outcome.results[r].failure().text.find("waits for rank 0 in send/recv(int32 x 3)") != std::string::npos,
        world_outcome.results[r].failure().text);
  }
}

// A deadlock's cycle is sent as a bit for each of its ranks, if all ranks fit.
BOOST_AUTO_TEST_CASE(a_circle_that_cannot_be_told_in_full_is_told_by_one_of_its_ranks) {
  rank_type const n = 49;
  auto const world_outcome = tutti::simulate(one_switch(n, fast), n, [&](auto& world) {
    world.deadline(seconds(3));
    tutti::recv take{world};
    int x = 0;
    take(std::span(&x, 1), world.rank() == n - 2 ? n - 1 : n - 2);
  });
  for (rank_type r = 0; r < n; ++r) {
    auto const& failure_seen = world_outcome.results[r].failure();
    BOOST_TEST((failure_seen.at_fault == std::vector<rank_type>{n - 2} ||
                failure_seen.at_fault == std::vector<rank_type>{n - 1}));
    BOOST_TEST(failure_seen.text.find("wait for each other") == std::string::npos, failure_seen.text);
  }
}

BOOST_AUTO_TEST_CASE(an_operation_that_is_only_slow_blames_no_rank) {
  tutti::loggp const slow{.latency = microseconds(1), .per_byte = microseconds(10)};
  auto const world_outcome = tutti::simulate(one_switch(2, slow), 2, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    sum.deadline(seconds(3));
    sum.segment(1000);
    std::vector<float> v(500'000, 1);
    sum(v);
  });
  for (rank_type r = 0; r < 2; ++r) {
    BOOST_TEST(laws::blames(world_outcome.results[r], r, {}) == "");
    BOOST_TEST(world_outcome.results[r].failure().text.find("no rank at fault was found") != std::string::npos,
               world_outcome.results[r].failure().text);
    BOOST_TEST(
        (world_outcome.report.end_times[r] >= seconds(7) && world_outcome.report.end_times[r] < milliseconds(7'500)));
  }
}

BOOST_AUTO_TEST_CASE(a_message_that_is_lost_for_good_meets_the_deadline) {
  tutti::simulation_options options;
  options.faults.loss = 1;
  auto const world_outcome = tutti::simulate(
      one_switch(2, fast), 2,
      [](auto& world) {
        world.deadline(seconds(7));
        tutti::broadcast share{world, tutti::ring{}};
        float x = 1;
        share(std::span(&x, 1), 0);
        world.transport().spend(seconds(20));  // rank 0 has sent, and is not waiting
        tutti::barrier{world, tutti::ring{}}();
      },
      options);
  for (rank_type r = 0; r < 2; ++r) {
    BOOST_TEST((world_outcome.results[r].failure().kind == failure::deadline), world_outcome.results[r].failure().text);
  }
  BOOST_TEST(failed_as(world_outcome.results[1], failure::deadline, 0) == "");
  BOOST_TEST(
      (world_outcome.report.end_times[1] >= seconds(8) && world_outcome.report.end_times[1] < milliseconds(8'100)));
  BOOST_TEST(world_outcome.report.losses >= options.faults.attempts);
}

BOOST_AUTO_TEST_CASE(polling_takes_time) {
  auto const world_outcome = tutti::simulate(one_switch(2, fast), 2, [](auto& world) {
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    std::vector<float> v(1000, 1);
    auto pending = sum.start(v);
    int tests = 1;
    while (!pending.test()) {
      ++tests;
    }
    return tests;
  });
  BOOST_TEST(world_outcome.results[0].value() > 10);
  BOOST_TEST((world_outcome.report.time() > microseconds(2)));
}

BOOST_AUTO_TEST_CASE(ranks_that_wait_while_they_handle_exceptions_keep_their_own) {
  auto const world_outcome = tutti::simulate(one_switch(5, fast), 5, [](auto& world) -> std::string {
    tutti::barrier meet{world, tutti::doubling{}};
    try {
      try {
        throw std::runtime_error("of rank " + std::to_string(world.rank()));
      } catch (std::exception const&) {
        world.transport().spend(microseconds(10 * ((world.rank() * 3) % 5)));
        meet();
        meet();
        throw;
      }
    } catch (std::exception const& e) {
      return e.what();
    }
  });
  for (rank_type r = 0; r < 5; ++r) {
    BOOST_TEST(world_outcome.results[r].value() == "of rank " + std::to_string(r));
  }
}

BOOST_AUTO_TEST_CASE(a_schedule_that_cannot_end_says_why) {
  tutti::simulation_options death;
  death.faults.deaths = {{3, microseconds(5)}};
  tutti::simulation_options loss;
  loss.faults.loss = 1;
  auto const kind = [](tutti::simulation_options const& options) {
    try {
      std::ignore =
          tutti::simulate_schedule(one_switch(16, fast), tutti::ring{}, tutti::op::allreduce{}, 16, {1000}, options);
    } catch (tutti::error const& e) {
      return e.kind();
    }
    return failure::none;
  };
  BOOST_TEST((kind(death) == failure::peer_lost));
  BOOST_TEST((kind(loss) == failure::deadline));
  BOOST_TEST((kind({}) == failure::none));
}
