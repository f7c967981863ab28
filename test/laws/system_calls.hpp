// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/operators.hpp>
#include <support/system_calls.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/communicator.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

#include <boost/test/unit_test.hpp>

#include <sched.h>
#include <span>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace laws {

/// True if system calls can be observed on this machine; the precondition of a test.
inline boost::test_tools::assertion_result system_calls_are_seen(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result able(true);
  std::string obstacle = support::system_calls::obstacle();
  if (obstacle.empty() && support::system_calls::first_of([] { std::ignore = tutti::steady_now(); }) >= 0) {
    obstacle = "reading the clock is a system call on this machine";
  }
  if (!obstacle.empty()) {
    able = false;
    able.message() << "system calls are not seen: " << obstacle;
  }
  return able;
}

/// True if system calls can be observed and two ranks have a core each: with fewer they must yield to each other.
inline boost::test_tools::assertion_result cores_for_two(boost::unit_test::test_unit_id id) {
  auto able = system_calls_are_seen(id);
  if (able && std::thread::hardware_concurrency() < 2) {
    able = false;
    able.message() << "two ranks have one core";
  }
  return able;
}

inline constexpr int watched_operations = 100;

/// Describes the first system call that `operate` makes within 64 runs; "" if it makes none.
template <class Operate>
[[nodiscard]] std::string calls_the_system(Operate operate) {
  for (int i = 0; i < 64; ++i) {  // one run for each lane, and more
    operate();
  }
  long const call = support::system_calls::first_of([&] {
    for (int i = 0; i < watched_operations; ++i) {
      operate();
    }
  });
  return call < 0 ? "" : "system call " + std::to_string(call);
}

/// Runs both ranks of a world in one thread, so that neither ever waits: the other has already done its part.
/// Operations make no system call then.
template <class World>
[[nodiscard]] std::string no_call_without_waiting(World& rank_0, World& rank_1, std::size_t bytes) {
  using T = std::uint32_t;
  std::vector<T> const input(bytes / sizeof(T), 1);
  std::vector<T> x(input);
  std::vector<T> y(input);
  tutti::sum<T> const add;
  std::string complaint;
  auto const law = [&](std::string const& name, auto operate) {
    std::string const system_call = calls_the_system(operate);
    if (complaint.empty() && !system_call.empty()) {
      complaint = name + " of " + std::to_string(bytes) + " bytes: " + system_call;
    }
  };

  {
    tutti::allreduce rank_0_sum{rank_0, tutti::doubling{}, add};
    tutti::allreduce rank_1_sum{rank_1, tutti::doubling{}, add};
    law("allreduce, rank 0 blocking", [&] {
      auto pending = rank_1_sum.start(y);
      rank_0_sum(x);
      pending.wait();
    });
    law("allreduce, rank 1 blocking, out of place", [&] {
      auto pending = rank_0_sum.start(input, x);
      rank_1_sum(input, y);
      pending.wait();
    });
  }
  {
    tutti::allreduce rank_0_sum{rank_0, tutti::ring{}, add};
    tutti::allreduce rank_1_sum{rank_1, tutti::ring{}, add};
    law("allreduce by ring, both started", [&] {
      auto a = rank_0_sum.start(x);
      auto b = rank_1_sum.start(y);
      rank_0.poll();
      rank_1.poll();
      rank_0.poll();
      b.wait();
      a.wait();
    });
  }
  tutti::broadcast tell{rank_0, tutti::binary_tree{}};
  tutti::broadcast hear{rank_1, tutti::binary_tree{}};
  law("broadcast", [&] {
    tell(x, 0);
    hear(y, 0);
  });
  tutti::reduce collect{rank_0, tutti::star{}, add};
  tutti::reduce contribute{rank_1, tutti::star{}, add};
  law("reduce", [&] {
    contribute(y, 0);
    collect(x, 0);
  });
  tutti::send give{rank_0};
  tutti::recv take{rank_1};
  law("send and recv", [&] {
    give(x, 1);
    take(y, 0);
  });
  return complaint;
}

/// Runs `check(zero, one)` on both ranks of a world of two, in one thread.
template <class Transport, class Check>
[[nodiscard]] std::string in_one_thread(Check check) {
  using world_type = tutti::communicator<Transport>;
  world_type* other = nullptr;
  auto const ends = tutti::detail::run_threads(2, [&](tutti::detail::thread_rendezvous& meet) -> std::string {
    world_type world(meet);
    if (meet.rank() == 1) {
      other = &world;
    }
    meet.exchange("made");
    std::string const complaint = meet.rank() == 0 ? check(world, *other) : "";
    meet.exchange("used");
    return complaint;
  });
  return ends[0] ? ends[0].value() : ends[0].failure().text;
}

/// Pins this rank to a core of its own. While another program keeps both cores busy, the system may leave both ranks
/// on one.
inline void keep_to_own_core(tutti::rank_type rank) {
  cpu_set_t may;
  if (::sched_getaffinity(0, sizeof may, &may) != 0) {
    return;
  }
  tutti::rank_type left = rank;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &may) && left-- == 0) {
      cpu_set_t single_core;
      CPU_ZERO(&single_core);
      CPU_SET(core, &single_core);
      ::sched_setaffinity(0, sizeof single_core, &single_core);
      return;
    }
  }
}

/// Two ranks with a core each make no system call, provided both keep their cores. The machine decides that: a rank
/// that waits for longer than it spins yields to others. So one quiet run of many operations in a row is required
/// among many runs; it proves that no operation has to make a system call.
template <class World, class Operate>
[[nodiscard]] std::string has_a_quiet_run(World& world, int runs, Operate operate) {
  tutti::allreduce maximum{world, tutti::doubling{}, tutti::max<long>{}};
  long call = 0;
  while (runs-- > 0 && call >= 0) {
    call = support::system_calls::first_of([&] {
      for (int i = 0; i < watched_operations; ++i) {
        operate();
      }
    });
    maximum(std::span(&call, 1));
  }
  return call < 0 ? "" : "no run without a system call, such as number " + std::to_string(call);
}

template <class World>
[[nodiscard]] std::string no_call_with_cores(World& world) {
  constexpr int patience = 20'000;  // some seconds if another program runs on these cores
  keep_to_own_core(world.rank());
  std::string complaint;
  auto const law = [&](std::string const& name, auto operate) {
    if (complaint.empty()) {  // the ranks agree: all act on a finding of either
      std::string const system_call = has_a_quiet_run(world, patience, operate);
      complaint = system_call.empty() ? "" : name + ": " + system_call;
    }
  };
  std::vector<float> const input(256, 1);
  std::vector<float> x(input);
  std::vector<float> longer(4096, 1);
  tutti::allreduce doubling{world, tutti::doubling{}, tutti::max<float>{}};
  tutti::allreduce ring{world, tutti::ring{}, tutti::max<float>{}};
  tutti::allreduce butterfly{world, tutti::butterfly{}, tutti::max<float>{}};
  law("doubling, 4 bytes", [&] { doubling(std::span(x).first(1)); });
  law("doubling, 1 KiB", [&] { doubling(x); });
  law("doubling, 16 KiB", [&] { doubling(longer); });
  law("doubling, 1 KiB out of place", [&] { doubling(input, x); });
  law("doubling, 1 KiB started", [&] { doubling.start(x).wait(); });
  law("ring, 1 KiB", [&] { ring(x); });
  law("butterfly, 1 KiB", [&] { butterfly(x); });
  return complaint;
}

/// A reduction that makes a system call.
[[nodiscard]] inline auto calling_sum() {
  return tutti::reduce_with<int>([](int a, int b) {
    ::getppid();
    return a + b;
  });
}

/// A system call within an operation is observed, so the laws above can fail.
template <class World>
[[nodiscard]] std::string calls_are_seen_without_waiting(World& rank_0, World& rank_1) {
  int x = 1;
  int y = 1;
  tutti::allreduce rank_0_sum{rank_0, tutti::doubling{}, calling_sum()};
  tutti::allreduce rank_1_sum{rank_1, tutti::doubling{}, calling_sum()};
  auto const system_call = calls_the_system([&] {
    auto pending = rank_1_sum.start(std::span(&y, 1));
    rank_0_sum(std::span(&x, 1));
    pending.wait();
  });
  return system_call == "system call " + std::to_string(SYS_getppid) ? "" : "what was seen: " + system_call;
}
template <class World>
[[nodiscard]] std::string calls_are_seen_with_cores(World& world) {
  int x = 1;
  tutti::allreduce op{world, tutti::doubling{}, calling_sum()};
  return has_a_quiet_run(world, 20, [&] { op(std::span(&x, 1)); }).empty() ? "nothing was seen" : "";
}

}  // namespace laws
