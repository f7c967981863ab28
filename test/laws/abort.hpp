// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/failure.hpp>
#include <tutti/collective/when_any.hpp>
#include <tutti/progress_thread.hpp>
#include <tutti/transport/tcp.hpp>

#include <atomic>
#include <cerrno>
#include <pthread.h>
#include <sched.h>
#include <set>
#include <stdexcept>
#include <sys/mman.h>
#include <thread>

/// The behaviour of a world that a rank aborts.
namespace laws {

/// Returns "" if the text is that of an error by which `rank` ended the world.
[[nodiscard]] inline std::string ended_by(tutti::error const& e, rank_type rank, std::string const& reason) {
  bool const is_aborted = e.kind() == failure::aborted && e.at_fault() == std::vector{rank};
  std::string const start = ": rank " + std::to_string(rank) + " (";
  std::string const text = e.what();
  return is_aborted && text.find(start) != text.npos && text.ends_with(") aborted the world: " + reason) ? "" : text;
}

/// Calls `f`, which must end as `rank` wants it. Returns the complaint.
template <class F>
[[nodiscard]] std::string is_ended_by(rank_type rank, std::string const& reason, F f) {
  try {
    f();
    return "it did not fail";
  } catch (tutti::error const& e) {
    return ended_by(e, rank, reason);
  }
}

/// Lets peers fall asleep. Laws hold also if some have not by then.
inline void let_peers_sleep() {
  ::poll(nullptr, 0, 40);
}

/// The ways to wait. Each waits for what never comes.
enum class wait_kind { allreduce, recv, send, when_any, progress_thread, request };
inline constexpr wait_kind wait_kinds[] = {
    wait_kind::allreduce,       wait_kind::recv,   wait_kind::send, wait_kind::when_any,
    wait_kind::progress_thread, wait_kind::request};

template <class World>
void wait_in_vain(World& world, wait_kind kind, rank_type absent) {
  std::vector<float> v(300'000, 1);
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
  tutti::recv receive{world};
  switch (kind) {
    case wait_kind::allreduce:
      return sum(v);
    case wait_kind::recv:
      return receive(v, absent);
    case wait_kind::send:
      for (;;) {
        tutti::send{world}(v, absent);
      }
    case wait_kind::when_any: {
      std::vector<tutti::request> requests;
      requests.push_back(receive.start(v, absent));
      static_cast<void>(tutti::when_any{world}(requests));
      return requests[0].wait();
    }
    case wait_kind::progress_thread: {
      tutti::progress_thread background{world};
      return background.post([&] { return sum.start(v); }).get();
    }
    case wait_kind::request: {
      auto pending = sum.start(v);
      while (!pending.test()) {
      }
      return pending.wait();
    }
  }
}

/// All ranks that wait, in whatever operation, get an error that names the aborting rank and its reason. So does that
/// rank, and later operations repeat it.
template <class Transport>
void an_abort_ends_every_wait() {
  auto const begin = tutti::steady_now();
  for (wait_kind const kind : wait_kinds) {
    support::agree<Transport>(4, [&](auto& world) -> std::string {
      constexpr rank_type aborting = 2;
      if (world.rank() == aborting) {
        let_peers_sleep();
        world.abort("no more money");
        world.abort("no more time");
      }
      rank_type const peer = world.rank() == aborting ? 0 : aborting;
      std::string complaint = is_ended_by(aborting, "no more money", [&] { wait_in_vain(world, kind, peer); });
      complaint += is_ended_by(aborting, "no more money", [&] { tutti::barrier{world, tutti::ring{}}(); });
      world.abort("too late");
      return complaint + is_ended_by(aborting, "no more money", [&] { tutti::barrier{world, tutti::ring{}}(); });
    });
  }
  BOOST_TEST((tutti::steady_now() - begin < std::chrono::seconds(20)));
}

/// Handle of the abort in a handler; a world of threads has one for all.
inline tutti::abort_handle signalled_world;
inline pthread_t signalled_thread;
inline volatile std::sig_atomic_t has_kept_errno = 0;

/// A thread that waits can be interrupted by a signal handler that aborts, or by another thread that does.
template <class Transport>
void an_abort_ends_the_own_wait() {
  for (bool const by_signal : {false, true}) {
    for (bool const while_waiting : {false, true}) {
      support::agree<Transport>(3, [&](auto& world) -> std::string {
        constexpr rank_type aborting = 1;
        std::thread other;
        if (world.rank() == aborting) {
          signalled_world = world.aborter();
          signalled_thread = ::pthread_self();
          ::signal(SIGUSR1, [](int) {
            int const error_code = std::exchange(errno, EDOM);
            signalled_world("SIGUSR1");
            has_kept_errno = errno == EDOM;
            errno = error_code;
          });
          auto const abort = [&world, by_signal] {
            if (by_signal) {
              ::pthread_kill(signalled_thread, SIGUSR1);
            } else {
              world.abort("SIGUSR1");
            }
          };
          if (while_waiting) {
            other = std::thread([abort] {
              let_peers_sleep();
              abort();
            });
          } else {
            abort();
          }
        }
        std::string complaint =
            is_ended_by(aborting, "SIGUSR1", [&] { wait_in_vain(world, wait_kind::recv, (world.rank() + 1) % 3); });
        if (other.joinable()) {
          other.join();
        }
        if (world.rank() == aborting) {
          ::signal(SIGUSR1, SIG_DFL);
          return complaint + (by_signal && has_kept_errno == 0 ? "the handler has changed errno" : "");
        }
        return complaint;
      });
    }
  }
}

/// A rank that computes gets the error in its next call, and so do ranks whose world had no operation yet.
template <class Transport>
void an_abort_meets_a_rank_that_computes() {
  support::agree<Transport>(3, [&](auto& world) -> std::string {
    if (world.rank() == 0) {
      world.abort("first");
    } else if (world.rank() == 1) {
      for (auto const begin = tutti::steady_now(); tutti::steady_now() - begin < std::chrono::milliseconds(50);) {
      }
    }
    return is_ended_by(0, "first", [&] {
      for (;;) {  // an operation may end well if all its messages have come
        tutti::barrier{world, tutti::ring{}}();
      }
    });
  });
}

/// Parts and duplicates end with their world, and the world with its parts.
template <class Transport>
void an_abort_ends_parts_and_wholes() {
  for (bool const in_part : {false, true}) {
    support::agree<Transport>(4, [&](auto& world) -> std::string {
      constexpr rank_type aborting = 3;
      auto part = tutti::split(world, world.rank() % 2);  // ranks 0 and 2; ranks 1 and 3
      auto const copy = tutti::dup(part);
      if (world.rank() == aborting) {
        let_peers_sleep();
        in_part ? copy.abort("end") : world.abort("end");
      }
      int element = 0;
      std::string complaint;
      rank_type const peer = 1 - part.rank();
      if (world.rank() == 1) {
        complaint = is_ended_by(1, "end", [&] { tutti::recv{part}(std::span(&element, 1), peer); });
      } else if (world.rank() != aborting) {
        try {
          tutti::recv{part}(std::span(&element, 1), peer);
          complaint = "no error";
        } catch (tutti::error const& e) {
          std::string const text = e.what();
          bool const is_right = e.kind() == failure::aborted && e.at_fault().empty() &&
                                text.ends_with(": rank 3 of the world aborted it: end");
          complaint = is_right ? "" : text;
        }
      }
      return complaint + is_ended_by(aborting, "end", [&] {
               tutti::recv{world}(std::span(&element, 1), (world.rank() + 1) % world.size());
             });
    });
  }
}

/// A count in memory that processes share, for ranks that must not make a call of the library meanwhile.
class shared_count {
 public:
  shared_count()
      : count_(static_cast<std::atomic<int>*>(
            ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  shared_count(shared_count const&) = delete;
  shared_count& operator=(shared_count const&) = delete;
  ~shared_count() { ::munmap(count_, sizeof(std::atomic<int>)); }

  void add_one() noexcept { count_->fetch_add(1); }
  /// Returns false if the count is lower after 20 seconds.
  [[nodiscard]] bool reaches(int count) const {
    for (auto const begin = tutti::steady_now(); count_->load() < count;) {
      if (tutti::steady_now() - begin > std::chrono::seconds(20)) {
        return false;
      }
      ::sched_yield();
    }
    return true;
  }

 private:
  std::atomic<int>* count_;
};

/// Calls `f`, which must end as rank 0 of the world wants it, on a communicator that lacks this rank.
template <class F>
[[nodiscard]] std::string is_ended_from_elsewhere(std::string const& reason, F f) {
  try {
    f();
    return "it did not fail";
  } catch (tutti::error const& e) {
    std::string const text = e.what();
    bool const is_right = e.kind() == failure::aborted && e.at_fault().empty() &&
                          text.ends_with(": rank 0 of the world aborted it: " + reason);
    return is_right ? "" : text;
  }
}

/// The part of rank 0 in a world of 4 that is split in two parts, and of ranks 2 and 3, which wait in their part and
/// have not heard of the abort. They count 1 before their wait, and 1 after it. Returns the complaint.
template <class World>
[[nodiscard]] std::string hears_in_its_part(World& world, bool while_waiting, shared_count& steps) {
  auto part = tutti::split(world, world.rank() / 2);
  int element = 0;
  auto const wait_for_peer = [&] { tutti::recv{part}(std::span(&element, 1), 1 - part.rank()); };
  std::string complaint;
  if (world.rank() >= 2) {
    steps.add_one();
    complaint = is_ended_from_elsewhere("end", wait_for_peer);
    steps.add_one();
  } else {
    complaint = steps.reaches(2) ? "" : "ranks 2 and 3 have no part";
    if (world.rank() == 0 && while_waiting) {
      std::thread other([end = world.aborter()] {
        let_peers_sleep();
        end("end");
      });
      complaint += is_ended_by(0, "end", wait_for_peer);
      other.join();
    } else if (world.rank() == 0) {
      let_peers_sleep();
      world.abort("end");
    }
    complaint += steps.reaches(4) ? "" : "ranks 2 and 3 still wait";
  }
  return complaint + is_ended_by(0, "end", [&] { tutti::barrier{world, tutti::ring{}}(); });
}

/// An abort reaches ranks that wait in a part none of whose members has heard of it, also if all other ranks compute:
/// the one that has aborted, by a call or by a handle while it waited, too.
template <class Transport>
void an_abort_reaches_parts_that_have_not_heard() {
  for (bool const while_waiting : {false, true}) {
    shared_count steps;
    support::agree<Transport>(4, [&](auto& world) { return hears_in_its_part(world, while_waiting, steps); });
  }
}

/// Uses a world of 4 by one thread while another thread of the rank waits on a part, and serves the world between two
/// calls. The results must be right, and an abort must end both. Returns the complaint.
template <class World>
[[nodiscard]] std::string uses_what_another_thread_serves(World& world) {
  auto part = tutti::split(world, world.rank() / 2);
  std::string complaint_of_part;
  std::thread waiting([&] {
    int element = 0;
    auto const wait_for_peer = [&] { tutti::recv{part}(std::span(&element, 1), 1 - part.rank()); };
    complaint_of_part =
        world.rank() < 2 ? is_ended_by(0, "end", wait_for_peer) : is_ended_from_elsewhere("end", wait_for_peer);
  });
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
  std::string const complaint = is_ended_by(0, "end", [&] {
    int step = 0;
    for (auto const begin = tutti::steady_now();; ++step) {
      int value = step;
      if (step % 2 == 0) {
        sum(value);
      } else {
        auto pending = sum.start(value);
        ::sched_yield();
        pending.wait();
        if (step % 101 == 0) {
          let_peers_sleep();  // the other threads look meanwhile
        }
      }
      if (value != 4 * step) {
        throw std::logic_error("a wrong sum");
      }
      if (world.rank() == 0 && tutti::steady_now() - begin > std::chrono::milliseconds(200)) {
        world.abort("end");
      }
    }
  });
  waiting.join();
  return complaint + complaint_of_part;
}

template <class Transport>
void a_thread_serves_what_another_uses() {
  support::agree<Transport>(4, [](auto& world) { return uses_what_another_thread_serves(world); });
}

/// The two laws above over TCP between threads of one process, where sanitizers see all, and with proofs of a secret at
/// each connection.
template <class Ranks>
void a_world_over_tcp_is_served() {
  shared_count steps;
  auto const check = [](auto const& verdicts) {
    for (std::string const& complaint : verdicts) {
      BOOST_TEST(complaint.empty(), complaint);
    }
  };
  check(Ranks::run(4, [&](auto& meet) {
    tutti::communicator<tutti::tcp> world(meet);
    return hears_in_its_part(world, false, steps);
  }));
  check(Ranks::run(4, [](auto& meet) {
    tutti::communicator<tutti::tcp> world(meet);
    return uses_what_another_thread_serves(world);
  }));
}

/// An abort may come while communicators of the world are made and destroyed.
template <class Transport>
void an_abort_meets_parts_that_come_and_go() {
  support::agree<Transport>(3, [&](auto& world) -> std::string {
    std::thread other;
    if (world.rank() == 1) {
      other = std::thread([end = world.aborter()] {
        let_peers_sleep();
        end("enough");
      });
    }
    std::string complaint;
    try {
      for (;;) {
        auto part = tutti::split(world, world.rank() % 2);
        auto const copy = tutti::dup(part);
      }
    } catch (tutti::error const& e) {
      std::string const text = e.what();
      complaint = e.kind() == failure::aborted && text.ends_with(": enough") ? "" : text;
    }
    if (other.joinable()) {
      other.join();
    }
    return complaint;
  });
}

/// If two ranks abort at once, each rank names one of them; where `agrees`, all name the same.
template <class Transport>
void two_aborts_are_one(bool agrees) {
  auto const results = tutti::spawn<Transport>(4, [&](auto& world) -> std::string {
    world.deadline(std::chrono::seconds(40));
    auto const wait = [&] {
      for (bool has_begun = false;; has_begun = true) {
        tutti::barrier{world, tutti::ring{}}();
        if (!has_begun && world.rank() % 2 == 1) {
          world.abort(world.rank() == 1 ? "one" : "three");
        }
      }
    };
    std::string const complaint = is_ended_by(1, "one", wait);
    return complaint.empty() ? "1" : is_ended_by(3, "three", wait).empty() ? "3" : complaint;
  });
  std::set<std::string> names;
  for (auto const& result : results) {
    names.insert(result ? result.value() : result.failure().text);
  }
  for (std::string const& rank : names) {
    BOOST_TEST((rank == "1" || rank == "3"), rank);
  }
  BOOST_TEST((!agrees || names.size() == 1));
}

/// The handle of a world that has ended does nothing, not to later worlds, either. A long reason is cut before a
/// character, and has no control characters.
template <class Transport>
void a_handle_outlives_its_world() {
  support::agree<Transport>(2, [&](auto& world) -> std::string {
    tutti::abort_handle handle;
    handle("no world");
    {
      auto const copy = tutti::split(world, 0);
      handle = copy.aborter();
    }
    auto const other = handle;
    return is_ended_by(0, std::string(52, 'x') + " \u00e9", [&] {
      for (;;) {
        tutti::barrier{world, tutti::ring{}}();
        if (world.rank() == 0) {
          other(std::string(52, 'x') + "\n" + "\u00e9\u00e9");
        }
      }
    });
  });
  tutti::abort_handle left;
  support::agree<tutti::loopback>(1, [&](auto& world) -> std::string {
    left = world.aborter();
    return "";
  });
  left("ended");
  support::agree<tutti::loopback>(2, [&](auto& world) -> std::string {
    left("ended");
    tutti::barrier{world, tutti::ring{}}();
    return "";
  });
}

}  // namespace laws
