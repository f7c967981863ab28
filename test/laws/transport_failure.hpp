// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/transport.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

/// The laws of a transport when the world fails. W is described in transport.hpp.
namespace tutti::laws {

/// Drives the transport until there is a fault, and returns it; an empty fault if there is none in time.
template <class T>
fault await_fault(T& t) {
  std::ignore = support::drive_until(t, [&] { return static_cast<bool>(t.fault()); });
  return t.fault();
}

/// Returns "" if the fault is of this kind and this culprit, no matter which rank reported it.
[[nodiscard]] inline verdict expect(fault f, failure kind, rank_type culprit) {
  return f.kind == kind && f.culprit == culprit ? "" : "expected another fault than " + support::describe_fault(f);
}

/// Sends and receives dummy messages until a fault stops it.
template <class T>
verdict talk_until_fault(T& t, flow s, failure kind, rank_type culprit) {
  std::byte const mark{};
  rank_type const next = (t.rank() + 1) % t.size();
  rank_type const previous = (t.rank() + t.size() - 1) % t.size();
  t.begin(s, a_call(0));
  verdict const bad = support::drive_until(t, [&] {
    std::ignore = t.send(next, s, {&mark, 1}, 1);
    if (t.view(previous, s, {1, 1, nullptr})) {
      t.release(previous, s);
    }
    return false;
  });
  if (fault const f = t.fault(); !f) {
    return bad;
  } else if (verdict v = expect(f, kind, culprit); !v.empty()) {
    return v;
  }
  if (t.send(next, s, {&mark, 1}, 1).is_accepted || t.view(previous, s, {1, 1, nullptr})) {
    return "messages still travel after a fault";
  }
  t.end(s);
  return "";
}

/// A fault becomes known to all ranks; a later one does not replace it. Messages that have arrived by then are no
/// longer delivered.
template <class W>
void faults_are_known_to_all(rank_type n) {
  check_all(W::run(n, [&](auto& t, auto& meet) -> verdict {
    flow const s{1, 0};
    std::byte const mark{};
    rank_type const previous = (t.rank() + n - 1) % n;
    t.begin(s, a_call(0));
    if (!t.send((t.rank() + 1) % n, s, {&mark, 1}, 1).is_accepted) {
      return "a first message was not accepted";
    }
    if (verdict bad = support::drive_until(t,
                                           [&] {
                                             return static_cast<bool>(t.view(previous, s, {1, 1, nullptr}));
                                           });
        !bad.empty()) {
      return bad;
    }
    meet.exchange("");
    fault const first{failure::deadline, 1, n - 1};
    if (t.rank() == n - 1) {
      t.revoke(first);
      t.revoke({failure::cancelled, 0, n - 1});
    }
    fault const observed_fault = await_fault(t);
    t.revoke({failure::protocol, 0, t.rank()});
    if (t.fault() != observed_fault || observed_fault != first) {
      return "expected another fault than " + support::describe_fault(t.fault());
    }
    if (t.view(previous, s, {1, 1, nullptr})) {
      return "a message was delivered after a fault";
    }
    t.end(s);
    return talk_until_fault(t, {0, 0}, failure::deadline, 1);
  }));
}

/// If several ranks find a fault, each keeps the one that it saw first.
template <class W>
void the_first_fault_wins(rank_type n, bool is_one_for_all) {
  std::vector<verdict> const verdicts = W::run(n, [&](auto& t) -> verdict {
    t.revoke({failure::cancelled, t.rank(), t.rank()});
    fault const first = t.fault();
    for (int repetition = 0; repetition < 1000; ++repetition) {
      t.poll();
      t.revoke({failure::deadline, 0, t.rank()});
      if (t.fault() != first) {
        return "the fault changed";
      }
    }
    return support::describe_fault(first);
  });
  for (verdict const& v : verdicts) {
    BOOST_TEST(v.starts_with("fault(cancelled"), v);
    BOOST_TEST((!is_one_for_all || v == verdicts[0]), v << " is not " << verdicts[0]);
  }
}

/// The receiver of a message that belongs to another call gets an error that shows both calls; all ranks get a fault.
template <class W>
void mismatches_are_named(rank_type n) {
  check_all(W::run(n, [&](auto& t) -> verdict {
    flow const s{2, 10};
    if (t.rank() > 1) {
      fault const f = await_fault(t);
      return f.kind == failure::mismatch && f.culprit < 2 ? "" : support::describe_fault(f);
    }
    t.begin(s, a_call(t.rank() == 0 ? 1000 : 2000));
    std::byte const mark{};
    bool has_error = false;
    try {
      bool is_sent = false;
      verdict const bad = support::drive_until(t, [&] {
        is_sent = is_sent || t.send(1 - t.rank(), s, {&mark, 1}, 1).is_accepted;
        return static_cast<bool>(t.view(1 - t.rank(), s, {1, 1, nullptr}));
      });
      if (bad.empty()) {
        return "a message of another call was delivered";
      }
    } catch (error const& e) {
      std::string const text = e.what();
      if (e.kind() != failure::mismatch || text.find("x 1000") == text.npos || text.find("x 2000") == text.npos ||
          e.self() != t.rank() || e.at_fault() != std::vector<rank_type>{1 - t.rank()}) {
        return "not a useful error: " + text;
      }
      has_error = true;
    }
    fault const f = await_fault(t);  // the other rank may have been the first to see it
    return f.kind == failure::mismatch && (has_error || f.culprit == t.rank()) ? "" : support::describe_fault(f);
  }));
}

/// A mismatch is found if only the flow's number differs: one rank has made one call more.
template <class W>
void lost_count_is_a_mismatch() {
  check_all(W::run(2, [&](auto& t) -> verdict {
    std::byte const mark{};
    flow const s{0, t.rank() == 0 ? 8U : 16U};
    t.begin(s, a_call(1));
    if (t.rank() == 0) {
      verdict const bad = support::drive_until(t, [&] { return t.send(1, s, {&mark, 1}, 1).is_accepted; });
      return !bad.empty() ? bad : expect(await_fault(t), failure::mismatch, 0);
    }
    try {
      return "no error: " + support::drive_until(t, [&] { return static_cast<bool>(t.view(0, s, {1, 1, nullptr})); });
    } catch (error const& e) {
      std::string const text = e.what();
      return text.find("(number 8)") != text.npos && text.find("(number 16)") != text.npos ? "" : text;
    }
  }));
}

/// Messages of a rank that has left still arrive; a rank that waits for more learns that the sender has left.
template <class W>
void a_departed_peer_is_missed_when_it_is_needed() {
  using transport = typename W::transport;
  check_all(W::run(3, [&](transport& t) -> verdict {
    flow const s{0, 1};
    std::byte const marks[] = {std::byte{1}, std::byte{2}, std::byte{3}};
    t.begin(s, a_call(3));
    if (t.rank() == 1) {  // leaves as soon as it has sent
      for (std::byte const& mark : marks) {
        if (verdict bad = support::drive_until(t,
                                               [&] {
                                                 return t.send(0, s, {&mark, 1}, 1).is_accepted;
                                               });
            !bad.empty()) {
          return bad;
        }
      }
      t.end(s);
      return "";
    }
    if (t.rank() == 2) {
      return expect(await_fault(t), failure::peer_lost, 1);
    }
    for (int look = 0; look < 5000; ++look) {  // rank 1 may have left, which is no fault; some probes are for others
      t.probe();
      t.poll();
      if (fault const f = t.fault()) {
        return "no rank needs the one that left, but " + support::describe_fault(f);
      }
      support::give_way();
    }
    for (std::byte const mark : marks) {
      chunk c;
      verdict const bad = support::drive_until(t, [&] { return static_cast<bool>(c = t.view(1, s, {1, 1, nullptr})); });
      if (!bad.empty() || c.bytes != 1 || *c.data != mark) {
        return "not what was sent: " + bad;
      }
      t.release(1, s);
    }
    if (t.fault()) {
      return "missed too early: " + support::describe_fault(t.fault());
    }
    std::ignore = support::drive_until(t, [&] { return static_cast<bool>(t.view(1, s, {1, 1, nullptr})); });
    return expect(t.fault(), failure::peer_lost, 1);
  }));
}

/// A rank that leaves without having read its messages is missed by a peer that waits for its buffer, or for room to
/// send more.
template <class W>
void a_departed_reader_is_missed(std::size_t bytes) {
  check_all(W::run(2, [&](auto& t) -> verdict {
    if (t.rank() == 1) {
      return "";
    }
    flow const s{0, 1};
    std::vector<std::byte> const data(bytes);
    t.begin(s, a_call(3));
    ticket receipt = 0;
    std::ignore = support::drive_until(t, [&] {
      if (receipt == 0) {
        receipt = t.send(1, s, data, 1).release_ticket;
      }
      return receipt != 0 && t.is_released(1, s, receipt);
    });
    verdict const v = expect(t.fault(), failure::peer_lost, 1);
    t.quiesce();
    return v;
  }));
}

/// All others find a process that is killed, and name it. `first` runs in that process before.
template <class W, class F>
void a_dead_process_is_found(rank_type n, rank_type victim, F const& first) {
  std::vector<verdict> const verdicts = W::run(n, [&](auto& t) -> verdict {
    if (t.rank() == victim) {
      std::ignore = support::drive_until(t, [turns = 0]() mutable { return ++turns == 100; });
      first();
      ::kill(::getpid(), SIGKILL);
    }
    return talk_until_fault(t, {0, 0}, failure::peer_lost, victim);
  });
  for (rank_type r = 0; r < n; ++r) {
    BOOST_TEST(verdicts[r] == (r == victim ? support::death_verdict : ""), "rank " << r << ": " << verdicts[r]);
  }
}
template <class W>
void a_dead_process_is_found(rank_type n, rank_type victim) {
  a_dead_process_is_found<W>(n, victim, [] {});
}

/// A killed process is found even if a helper process that it has forked lives on. `fork` makes a child as fork(2)
/// does.
template <class W>
void a_helper_does_not_hide_a_death(rank_type n, rank_type victim, pid_t (*fork)()) {
  int hold[2];
  BOOST_REQUIRE(::pipe(hold) == 0);
  a_dead_process_is_found<W>(n, victim, [&] {
    if (fork() == 0) {  // until no other process holds the other end
      char c = 0;
      ::close(hold[1]);
      std::ignore = ::read(hold[0], &c, 1);
      ::_exit(0);
    }
  });
  ::close(hold[0]);
  ::close(hold[1]);
}

/// A stopped process is neither dead nor departed: no fault.
template <class W>
void a_stopped_process_is_waited_for() {
  check_all(W::run(2, [&](auto& t, auto& meet) -> verdict {
    flow const s{0, 0};
    std::byte const mark{};
    t.begin(s, a_call(0));
    auto const process = static_cast<pid_t>(std::stol(meet.exchange(std::to_string(::getpid()))[1]));
    if (t.rank() == 1) {
      ::raise(SIGSTOP);
      return support::drive_until(t, [&] { return t.send(0, s, {&mark, 1}, 1).is_accepted; });
    }
    auto const is_stopped = [&] {
      std::ifstream status_file("/proc/" + std::to_string(process) + "/stat");
      std::string text;
      std::getline(status_file, text);
      return text.find(") T ") != text.npos;
    };
    if (verdict bad = support::drive_until(t, is_stopped); !bad.empty()) {
      return bad;
    }
    verdict bad = support::drive_until(t, [&, turns = 0]() mutable {
      t.probe();
      return ++turns == 3000;
    });
    ::kill(process, SIGCONT);
    return !bad.empty() ? bad : support::drive_until(t, [&] {
      return static_cast<bool>(t.view(1, s, {1, 1, nullptr}));
    });
  }));
}

/// A forked child that destroys its copy of the transport takes nothing from its parent.
template <class W>
void a_forked_child_takes_no_part() {
  check_all(W::run(2, [&](auto& t) -> verdict {
    pid_t const child = ::fork();
    if (child == 0) {
      std::destroy_at(&t);
      ::_exit(0);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    flow const s{0, 0};
    std::byte const mark{};
    t.begin(s, a_call(0));
    verdict bad = support::drive_until(t, [&] { return t.send(1 - t.rank(), s, {&mark, 1}, 1).is_accepted; });
    bad = !bad.empty() ? bad : support::drive_until(t, [&] {
      return static_cast<bool>(t.view(1 - t.rank(), s, {1, 1, nullptr}));
    });
    return status != 0 ? "the child did not end" : bad;
  }));
}

/// All ranks stop in the middle of much traffic.
template <class W>
void destruction_with_work_in_flight_is_clean(rank_type n, std::size_t bytes) {
  for (int turns = 1; turns < 40; turns += 3) {
    check_all(W::run(n, [&](auto& t) -> verdict {
      std::vector<job> jobs;
      for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
        jobs.push_back(all_to_all_messages(t.rank(), n, {lane, 0}, {{0, bytes}, {0, 40}, {0, bytes}}));
      }
      int remaining_turns = turns + static_cast<int>(t.rank());
      verdict const v = support::run(t, jobs, [&](auto&) {
        if (--remaining_turns == 0) {
          t.revoke({failure::cancelled, t.rank(), t.rank()});
        }
      });
      bool const is_expected = v.empty() || v.starts_with("fault(cancelled") || v.starts_with("fault(peer lost");
      return is_expected ? "" : v;
    }));
  }
}

/// After `quiesce` no peer reads or writes this rank's memory, whatever was under way: the last rank has given the
/// transport a place for a message.
template <class W>
void quiesce_waits_for_readers_and_writers(int worlds) {
  constexpr std::size_t bytes = 20'000;
  for (int turn = 0; turn < worlds; ++turn) {
    check_all(W::run(3, [&](auto& t, auto& meet) -> verdict {
      flow const s{0, 0};
      t.begin(s, a_call(1));
      if (t.rank() == 0) {
        std::vector<std::byte> data(bytes, std::byte{1});
        for (rank_type receiver : {1U, 2U}) {
          verdict const bad = support::drive_until(t, [&] { return t.send(receiver, s, data, 1).is_accepted; });
          if (!bad.empty()) {
            return bad;
          }
        }
        for (int wait = 0; wait < turn % 40; ++wait) {
          support::give_way();
        }
        t.revoke({failure::cancelled, 0, 0});
        t.quiesce();
        std::fill(data.begin(), data.end(), std::byte{2});
        meet.exchange("");
        return expect(await_fault(t), failure::cancelled, 0);
      }
      std::vector<std::byte> place(bytes);
      verdict complaint;
      verdict const wait_verdict = support::drive_until(t, [&] {
        chunk const c = t.view(0, s, {bytes, 1, t.rank() == 2 ? place.data() : nullptr});
        if (c && std::any_of(c.data, c.data + c.bytes, [](std::byte b) { return b != std::byte{1}; })) {
          complaint = "read memory that was not there any more";
        }
        return !complaint.empty();
      });
      t.quiesce();
      std::fill(place.begin(), place.end(), std::byte{3});
      meet.exchange("");
      bool const is_untouched = std::all_of(place.begin(), place.end(), [](std::byte b) { return b == std::byte{3}; });
      return !complaint.empty()                            ? complaint
             : !is_untouched                               ? "something wrote to memory after quiesce"
             : wait_verdict.starts_with("fault(cancelled") ? ""
                                                           : wait_verdict;
    }));
  }
}

}  // namespace tutti::laws
