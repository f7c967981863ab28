// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/run_as.hpp>
#include <support/worlds.hpp>
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/alltoall.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/exscan.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/dup.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/planned.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/selection.hpp>

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

/// The behaviour of a world when something goes wrong. Each function runs a world and asserts, on the main thread, the
/// reports of its ranks.
namespace laws {

using tutti::failure;
using tutti::rank_type;

/// Returns "" if the rank failed with an error of this kind that blames this culprit.
template <class Outcome>
[[nodiscard]] std::string failed_as(Outcome const& outcome, failure kind, rank_type culprit) {
  if (outcome) {
    return "it did not fail";
  }
  auto const& failure_report = outcome.failure();
  bool const blames = std::find(failure_report.at_fault.begin(), failure_report.at_fault.end(), culprit) !=
                      failure_report.at_fault.end();
  bool const says = failure_report.text.find("rank " + std::to_string(culprit)) != std::string::npos;
  return failure_report.kind == kind && blames && says ? "" : "it failed otherwise: " + failure_report.text;
}

/// If a rank leaves while others need it, all of them get an error that names it.
template <class Transport, class Topology>
void a_rank_that_leaves_is_named(Topology topology, rank_type n, rank_type leaver, std::size_t count) {
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) {
    world.deadline(std::chrono::seconds(30));
    tutti::allreduce sum{world, run_as(world, topology), tutti::sum<float>{}};
    std::vector<float> v(count, 1);
    for (int k = 0; k < 20; ++k) {
      if (world.rank() == leaver && k == 10) {
        throw std::runtime_error("enough");
      }
      sum(v);
    }
  });
  for (rank_type r = 0; r < n; ++r) {
    if (r == leaver) {
      BOOST_TEST(results[r].failure().text == "enough");
    } else {
      BOOST_TEST(failed_as(results[r], failure::peer_lost, leaver) == "");
    }
  }
}

/// If a process is killed (SIGKILL) in the middle of an allreduce, the survivors name its rank well before the
/// deadline.
template <class Transport, class Topology>
void a_killed_process_is_named(Topology topology, rank_type n, rank_type victim, std::size_t count) {
  auto const begin = tutti::steady_now();
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) {
    world.deadline(std::chrono::seconds(30));
    tutti::allreduce sum{world, run_as(world, topology), tutti::sum<float>{}};
    std::vector<float> v(count, 1);
    for (int k = 0;; ++k) {
      auto pending = sum.start(v);
      if (world.rank() == victim && k == 10) {
        ::kill(::getpid(), SIGKILL);
      }
      pending.wait();
    }
  });
  for (rank_type r = 0; r < n; ++r) {
    if (r == victim) {
      BOOST_TEST(results[r].failure().signal == SIGKILL);
    } else {
      BOOST_TEST(failed_as(results[r], failure::peer_lost, victim) == "");
    }
  }
  BOOST_TEST((tutti::steady_now() - begin < std::chrono::seconds(15)));
}

/// True if an error shows both calls that differ, or names a rank whose error does.
[[nodiscard]] inline bool leads_to_both_calls(std::string const& text, auto const& results) {
  bool leads = text.find(" called ") != std::string::npos || text.find("is not the one that") != std::string::npos;
  for (std::size_t r = 0; r != results.size() && !leads; ++r) {
    std::string const says = ": the error of rank " + std::to_string(r) + " says how;";
    leads = text.find(says) != std::string::npos && results[r].failure().text.find(says) == std::string::npos;
  }
  return leads;
}

/// Ranks whose calls differ all get an error, some error shows both calls, and no rank hangs.
template <class Transport, class Wrong>
void a_different_call_is_named(rank_type n, rank_type odd, char const* expected_text, Wrong wrong) {
  auto const results = tutti::spawn<Transport>(n, [&](auto& world) {
    world.deadline(std::chrono::seconds(20));
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    std::vector<float> v(100, 1);
    sum(v);
    if (world.rank() == odd) {
      wrong(world);
    } else {
      sum(v);
    }
    tutti::barrier{world, tutti::ring{}}();  // a rank that the other call did not need meets the fault here
  });
  bool is_shown = false;
  for (rank_type r = 0; r < n; ++r) {
    BOOST_TEST(!results[r].has_value(), "rank " << r << " of " << n << " did not fail");
    auto const& failure_report = results[r].failure();
    BOOST_TEST((failure_report.kind == failure::mismatch), failure_report.text);
    BOOST_TEST(leads_to_both_calls(failure_report.text, results), failure_report.text);
    is_shown = is_shown || (failure_report.text.find(expected_text) != std::string::npos &&
                            failure_report.text.find("allreduce(sum float32 x 100, ring)") != std::string::npos);
  }
  BOOST_TEST(is_shown, "no rank shows both calls: " << results[0].failure().text);
}

/// Every property of a call is compared.
template <class Transport>
void every_difference_is_found() {
  auto const other = [](auto&& call) { return call; };
  a_different_call_is_named<Transport>(3, 1, "x 101", other([](auto& world) {
                                         tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
                                         std::vector<float> v(101);
                                         sum(v);
                                       }));
  a_different_call_is_named<Transport>(3, 2, "int32", other([](auto& world) {
                                         tutti::allreduce sum{world, tutti::ring{}, tutti::sum<std::int32_t>{}};
                                         std::vector<std::int32_t> v(100);
                                         sum(v);
                                       }));
  a_different_call_is_named<Transport>(3, 0, "max", other([](auto& world) {
                                         tutti::allreduce max{world, tutti::ring{}, tutti::max<float>{}};
                                         std::vector<float> v(100);
                                         max(v);
                                       }));
  a_different_call_is_named<Transport>(2, 1, "doubling", other([](auto& world) {
                                         tutti::allreduce sum{world, tutti::doubling{}, tutti::sum<float>{}};
                                         std::vector<float> v(100);
                                         sum(v);
                                       }));
  a_different_call_is_named<Transport>(3, 0, "segment()", other([](auto& world) {
                                         tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
                                         sum.segment(64);
                                         std::vector<float> v(100);
                                         sum(v);
                                       }));
  a_different_call_is_named<Transport>(3, 1, "broadcast", other([](auto& world) {
                                         tutti::broadcast share{world, tutti::ring{}};
                                         std::vector<float> v(100);
                                         share(v, 0);
                                       }));
  a_different_call_is_named<Transport>(3, 1, "exscan", other([](auto& world) {
                                         tutti::exscan offset{world, tutti::doubling{}, tutti::sum<float>{}};
                                         std::vector<float> v(100);
                                         offset(v);
                                       }));
}

/// Returns the failures of n ranks that sum over the topologies returned by make(rank).
template <class Transport, class Make>
std::vector<tutti::rank_failure> failures_over(rank_type n, Make make) {
  std::vector<tutti::rank_failure> failures;
  for (auto const& end : tutti::spawn<Transport>(n, [&](auto& world) {
         world.deadline(std::chrono::seconds(20));
         tutti::allreduce sum{world, make(world.rank()), tutti::sum<float>{}};
         std::vector<float> v(100, 1);
         sum(v);
         tutti::barrier{world, tutti::ring{}}();
       })) {
    failures.push_back(end ? tutti::rank_failure{} : end.failure());
  }
  return failures;
}

/// Checks that every rank learns that the calls differ, and that at least one shows both.
inline void both_are_shown(std::vector<tutti::rank_failure> const& failures, char const* first_text,
                           char const* second_text) {
  bool is_shown = false;
  for (auto const& failure_report : failures) {
    BOOST_TEST((failure_report.kind == failure::mismatch), failure_report.text);
    is_shown = is_shown || (failure_report.text.find(first_text) != std::string::npos &&
                            failure_report.text.find(second_text) != std::string::npos);
  }
  BOOST_TEST(is_shown, "no rank shows both " << first_text << " and " << second_text << ": " << failures[0].text);
}

/// Ranks that run different schedules of one type, selected or planned at run time, get an error.
template <class Transport>
void a_different_choice_is_found() {
  using tutti::schedule_kind;
  using tutti::selection;
  auto const failures_of = [](schedule_kind of_rank_0, schedule_kind of_others) {
    return failures_over<Transport>(4, [=](rank_type me) { return selection(me == 0 ? of_rank_0 : of_others); });
  };
  both_are_shown(failures_of(schedule_kind::binary_tree, schedule_kind::star), "x 100, binary_tree)", "x 100, star)");
  both_are_shown(failures_of(schedule_kind::direct, schedule_kind::doubling), "x 100, direct)", "x 100, doubling)");

  tutti::host_map const blocks(std::vector{0, 0, 1, 1});
  tutti::host_map const dealt(std::vector{0, 1, 0, 1});
  both_are_shown(failures_over<Transport>(
                     4, [&](rank_type me) { return selection(schedule_kind::hosts_ring, me == 1 ? &dealt : &blocks); }),
                 "x 100, hosts_ring)", "with other settings");

  std::vector<tutti::plan<true>> plans;
  for (rank_type me = 0; me < 4; ++me) {
    tutti::op::allreduce const op;
    plans.push_back(me == 0 ? tutti::plan<true>(tutti::binary_tree{}, op, 4, me)
                            : tutti::plan<true>(tutti::star{}, op, 4, me));
  }
  both_are_shown(failures_over<Transport>(4, [&](rank_type me) { return plans[me].view(); }), "x 100, binary_tree)",
                 "x 100, star)");
}

/// Ranks that disagree about the grouping of ranks into hosts get an error.
template <class Transport>
void a_different_grouping_is_found() {
  using tutti::hierarchical;
  auto const failures = [](rank_type n, auto make) { return failures_over<Transport>(n, make); };
  both_are_shown(failures(4,
                          [](rank_type me) {
                            return hierarchical{tutti::binary_tree{}, tutti::ring{}, me == 3 ? 4U : 2U};
                          }),
                 "x 100, hosts of 2)", "x 100, hosts of 4)");

  // Equal numbers of hosts and of ranks a host, but other ranks on each.
  tutti::host_map const blocks(std::vector{0, 0, 1, 1});
  tutti::host_map const dealt(std::vector{0, 1, 0, 1});
  both_are_shown(failures(4,
                          [&](rank_type me) {
                            return hierarchical{tutti::binary_tree{}, tutti::ring{}, me == 1 ? dealt : blocks};
                          }),
                 "x 100, hosts ", "but rank ");

  // Different arguments that give equal schedules: no error.
  for (auto const& failure_report : failures(3, [](rank_type me) {
         return hierarchical{tutti::binary_tree{}, tutti::ring{}, me == 0 ? 3U : 8U};
       })) {
    BOOST_TEST((failure_report.kind == failure::none), failure_report.text);
  }
}

/// Ranks that pass different partitions get an error that says so, with the block of the rank that reports it.
template <class Transport>
void a_different_partition_is_found() {
  for (tutti::partition const& odd :
       {tutti::partition{2, 1, 3}, tutti::partition{2, 2, 2}, tutti::partition{1, 2, 4}}) {
    auto const results = tutti::spawn<Transport>(3, [&](auto& world) {
      world.deadline(std::chrono::seconds(20));
      tutti::allgather collect{world, tutti::ring{}};
      tutti::partition const blocks = world.rank() == 2 ? odd : tutti::partition{1, 2, 3};
      std::vector<float> v(blocks.count());
      collect(v, blocks);
      tutti::barrier{world, tutti::ring{}}();
    });
    bool is_shown = false;
    for (rank_type r = 0; r < 3; ++r) {
      std::string const text = results[r].failure().text;
      BOOST_TEST((results[r].failure().kind == failure::mismatch), text);
      bool const says_block = odd.is_equal_cut() && r == 2 ? true : text.find("the block of rank ") != text.npos;
      is_shown = is_shown || (text.find("the partitions differ") != text.npos && says_block);
    }
    BOOST_TEST(is_shown, "no rank says that the partitions differ: " << results[0].failure().text);
  }
}

/// Two ranks that disagree about the blocks between them get an error that names both lengths, whichever is longer.
template <class Transport>
void a_different_length_of_a_pair_is_found() {
  using pair = std::pair<std::size_t, std::size_t>;
  for (auto const& [length, expected] :
       {pair{3, 5}, pair{4, 0}, pair{0, 4}, pair{100'000, 30'000}, pair{30'000, 100'000}}) {
    auto const results = tutti::spawn<Transport>(3, [&, length = length, expected = expected](auto& world) {
      world.deadline(std::chrono::seconds(20));
      tutti::alltoall swap{world, tutti::direct{}};
      auto const blocks = [&](std::size_t pair_length) {  // ranks 1 and 2 disagree about both blocks between them
        return world.rank() == 0   ? tutti::partition{1, 1, 1}
               : world.rank() == 1 ? tutti::partition{1, 1, pair_length}
                                   : tutti::partition{1, pair_length, 1};
      };
      std::vector<float> const input(blocks(length).count());
      std::vector<float> output(blocks(expected).count());
      swap(input, output, blocks(length), blocks(expected));
      tutti::barrier{world, tutti::ring{}}();
    });
    bool is_shown = false;
    for (rank_type r = 0; r < 3; ++r) {
      std::string const text = results[r].failure().text;
      BOOST_TEST((results[r].failure().kind == failure::mismatch), text);
      is_shown = is_shown || (text.find("a message of " + std::to_string(4 * length) + " bytes") != text.npos &&
                              text.find(" expects " + std::to_string(4 * expected)) != text.npos &&
                              text.find("alltoall(float32 in blocks of any lengths, direct)") != text.npos);
    }
    BOOST_TEST(is_shown, "no rank shows both lengths: " << results[1].failure().text);
  }
}

/// Different roots are found in an operation that has a root.
template <class Transport>
void a_different_root_is_found() {
  auto const results = tutti::spawn<Transport>(3, [&](auto& world) {
    world.deadline(std::chrono::seconds(20));
    tutti::broadcast share{world, tutti::binary_tree{}};
    std::vector<float> v(100, 1);
    share(v, world.rank() == 2 ? 1 : 0);
    tutti::barrier{world, tutti::ring{}}();
  });
  for (rank_type r = 0; r < 3; ++r) {
    BOOST_TEST((results[r].failure().kind == failure::mismatch), results[r].failure().text);
  }
}

/// A send and a recv that disagree about the message are found.
template <class Transport>
void a_different_message_is_found() {
  auto const results = tutti::spawn<Transport>(2, [&](auto& world) {
    world.deadline(std::chrono::seconds(20));
    std::vector<int> v(world.rank() == 0 ? 2 : 4);
    if (world.rank() == 0) {
      tutti::send give{world};
      give(v, 1);
      give(v, 1);  // two messages of two elements do not match one of four
      tutti::barrier{world, tutti::ring{}}();
    } else {
      tutti::recv take{world};
      take(v, 0);
    }
  });
  BOOST_TEST((results[1].failure().kind == failure::mismatch), results[1].failure().text);
  BOOST_TEST((results[1].failure().text.find("send and recv must agree") != std::string::npos),
             results[1].failure().text);
  BOOST_TEST(!results[0].has_value());
}

/// A request that is destroyed before it is complete cancels its operation: all ranks learn which rank cancelled it,
/// also a rank that calls later. Rank 0 calls later; no rank can complete without it.
template <class Transport>
void a_dropped_request_is_named() {
  int given_up[2];  // written by ranks, which may be processes
  BOOST_REQUIRE(::pipe(given_up) == 0);
  auto const results = tutti::spawn<Transport>(3, [&](auto& world) {
    world.deadline(std::chrono::seconds(20));
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    std::vector<float> v(100000, 1);
    if (world.rank() == 1) {
      {
        auto request = sum.start(v);
      }
      tutti::expects(::write(given_up[1], "", 1) == 1, "the pipe takes a byte");
      throw std::runtime_error("dropped");
    }
    char word = 0;
    tutti::expects(world.rank() != 0 || ::read(given_up[0], &word, 1) == 1, "the pipe gives a byte");
    sum(v);
  });
  ::close(given_up[0]);
  ::close(given_up[1]);
  BOOST_TEST(failed_as(results[0], failure::cancelled, 1) == "");
  BOOST_TEST(failed_as(results[2], failure::cancelled, 1) == "");
}

/// Returns "" if the error is of this kind and names this rank and no other.
[[nodiscard]] inline std::string names_only(tutti::error const& e, failure kind, rank_type culprit) {
  bool const says = std::string_view(e.what()).find("rank " + std::to_string(culprit) + " (") != std::string::npos;
  return e.kind() == kind && e.at_fault() == std::vector{culprit} && says ? "" : e.what();
}

/// Words that ranks, which may be threads or processes, leave for each other. A wait for one ends after 20 s.
class words {
 public:
  words() { tutti::expects(::pipe(ends_) == 0, "there is a pipe"); }
  words(words const&) = delete;
  words& operator=(words const&) = delete;
  ~words() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  void give() const { tutti::expects(::write(ends_[1], "", 1) == 1, "the pipe takes a byte"); }
  void take() const {
    pollfd event{ends_[0], POLLIN, 0};
    char word = 0;
    tutti::expects(::poll(&event, 1, 20'000) == 1 && ::read(ends_[0], &word, 1) == 1,
                   "the other rank has said nothing");
  }

 private:
  int ends_[2] = {-1, -1};
};

/// Rank 2 cancels an operation of `failing` once the others have begun. Rank 0 learns of that and leaves `other`,
/// where rank 1 misses it. If both are one communicator, rank 1 begins afterwards: otherwise rank 2's operation might
/// complete. Rank 2 leaves when rank 1 has ended.
/// @return a complaint about the errors of ranks 0 and 1; `expected(error)` checks that of rank 1
template <class Failing, class Second, class Expected>
std::string leave_because_of_a_fault(Failing& failing, Second& second, words const& begin_words, words const& given_up,
                                     words const& end_words, Expected expected) {
  rank_type const me = failing.rank();
  bool const same_communicator = static_cast<void const*>(&failing) == static_cast<void const*>(&second);
  std::vector<float> v(1000, 1);
  tutti::allreduce sum{failing, tutti::ring{}, tutti::sum<float>{}};
  if (me == 2) {
    begin_words.take();
    begin_words.take();
    { auto request = sum.start(v); }
    given_up.give();
    end_words.take();
    return "";
  }
  begin_words.give();
  if (me == 1 && same_communicator) {
    given_up.take();
  }
  std::string wrong = "it worked";
  try {
    if (me == 0) {
      sum(v);
    } else {
      tutti::allreduce{second, tutti::ring{}, tutti::sum<float>{}}(v);
    }
  } catch (tutti::error const& e) {
    wrong = me == 0 ? names_only(e, failure::cancelled, 2) : expected(e);
  }
  return wrong;
}

/// If a rank leaves because of a fault in one communicator, errors in other communicators name the rank at fault. If
/// that rank is no member of them, they say that the rank that left gave up. A rank that has continued in the meantime
/// leaves for a reason of its own. See detail/communicator/relative.hpp.
template <class Transport>
void a_fault_elsewhere_is_the_reason_to_leave() {
  auto const blames_rank_2 = [](tutti::error const& e) { return names_only(e, failure::cancelled, 2); };
  auto const gave_up = [](tutti::error const& e) {
    std::string const wrong = names_only(e, failure::cancelled, 0);
    return !wrong.empty() || std::string_view(e.what()).find("another communicator") != std::string::npos ? wrong
                                                                                                          : e.what();
  };
  for (int form = 0; form < 4; ++form) {
    words const begin_words;
    words const given_up;
    words const end_words;
    auto const run = [&](auto& world) -> std::string {
      if (form == 0) {
        auto part = tutti::dup(world);
        return leave_because_of_a_fault(world, part, begin_words, given_up, end_words, blames_rank_2);
      }
      if (form == 1) {
        auto part = tutti::split(world, 0, -static_cast<std::int64_t>(world.rank()));
        auto part_of_part = tutti::split(part, 0, -static_cast<std::int64_t>(part.rank()));
        return leave_because_of_a_fault(part_of_part, world, begin_words, given_up, end_words, blames_rank_2);
      }
      auto part = tutti::split(world, world.rank() / 2);
      if (form == 2) {
        return leave_because_of_a_fault(world, part, begin_words, given_up, end_words, gave_up);
      }
      std::string const wrong = leave_because_of_a_fault(world, world, begin_words, given_up, end_words, blames_rank_2);
      if (world.rank() == 2 || !wrong.empty()) {
        return wrong;
      }
      tutti::allreduce sum{part, tutti::ring{}, tutti::sum<float>{}};
      std::vector<float> v(1000, 1);
      sum(v);
      if (world.rank() == 0) {
        return "";
      }
      try {
        sum(v);
      } catch (tutti::error const& e) {
        return names_only(e, failure::peer_lost, 0);
      }
      return "it worked";
    };
    auto const results = tutti::spawn<Transport>(3, [&](auto& world) {
      world.deadline(std::chrono::seconds(20));
      std::string const wrong = run(world);
      if (world.rank() == 1) {
        end_words.give();
      }
      return wrong;
    });
    for (rank_type r = 0; r < 3; ++r) {
      std::string const wrong = results[r] ? results[r].value() : results[r].failure().text;
      BOOST_TEST(wrong == "", "form " << form << ", rank " << r << ": " << wrong);
    }
  }
}

/// A communicator that has failed keeps failing, with the same error and immediately.
template <class Transport>
void a_failed_epoch_stays_failed() {
  auto const results = tutti::spawn<Transport>(2, [&](auto& world) -> std::string {
    world.deadline(std::chrono::seconds(20));
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    if (world.rank() == 1) {
      return {};
    }
    for (int k = 0; k < 3; ++k) {
      try {
        std::vector<float> v(1000, 1);
        sum(v);
        return "it worked";
      } catch (tutti::error const& e) {
        if (e.kind() != failure::peer_lost || e.at_fault() != std::vector<rank_type>{1} || e.self() != 0 ||
            e.operation() != "allreduce(sum float32 x 1000, ring)" || e.sequence() != static_cast<std::uint64_t>(k)) {
          return e.what();
        }
      }
    }
    return world.recent().text().find("#2 allreduce(sum float32 x 1000, ring): failed") != std::string::npos
               ? ""
               : "the flight recorder says " + world.recent().text();
  });
  BOOST_TEST(results[0].value() == "");
}

}  // namespace laws
