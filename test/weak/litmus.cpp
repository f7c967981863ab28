// SPDX-License-Identifier: Apache-2.0
//
// Tests of the explorer: for well-known small programs it finds exactly the outcomes that its model allows.
#include <weak/programs.hpp>

#include <atomic>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weak {
namespace {

constexpr auto rlx = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;

using word = std::atomic<int>;

void full_fence() noexcept {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
void release_fence() noexcept {
  std::atomic_thread_fence(release);
}
void acquire_fence() noexcept {
  std::atomic_thread_fence(acquire);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

/// Words on lines of their own, and what the threads have read.
struct memory {
  word x{0};
  word y{0};
  word z{0};
  int data = 0;
  int r[6] = {};
};

template <class... Threads>
class litmus final : public scenario {
 public:
  litmus(std::set<std::string>* outcomes, std::size_t value_count, bool shows_memory, Threads... threads)
      : outcomes_(outcomes), value_count_(value_count), shows_memory_(shows_memory), threads_(threads...) {}

  void run(int thread) override { run_one(thread, std::index_sequence_for<Threads...>()); }
  void finish() override {
    std::string text;
    for (std::size_t i = 0; i < value_count_; ++i) {
      text += std::to_string(m_.r[i]);
    }
    if (shows_memory_) {
      text += " " + std::to_string(m_.x.load(rlx)) + std::to_string(m_.y.load(rlx));
    }
    outcomes_->insert(text);
  }

 private:
  template <std::size_t... I>
  void run_one(int thread, std::index_sequence<I...>) {
    ((thread == static_cast<int>(I) ? std::get<I>(threads_)(m_) : void()), ...);
  }

  memory m_;
  std::set<std::string>* outcomes_;
  std::size_t value_count_;
  bool shows_memory_;
  std::tuple<Threads...> threads_;
};

bool has_failed = false;

void expect(bool holds, char const* name, std::string const& text) {
  std::printf("%-58s %s%s\n", name, text.c_str(), holds ? "" : "   <-- WRONG");
  has_failed = has_failed || !holds;
}

/// Expects exactly these outcomes: the first `value_count` values read, in order, and " xy", the final memory, if asked
/// for.
template <class... Threads>
void expect_outcomes(char const* name, std::set<std::string> const& demand, std::size_t value_count, bool shows_memory,
                     Threads... threads) {
  std::set<std::string> outcomes;
  program const p{name, sizeof...(Threads),
                  [&] { return new litmus<Threads...>(&outcomes, value_count, shows_memory, threads...); }};
  result const r = explore(p);
  std::string text = r.failure;
  for (std::string const& o : outcomes) {
    text += (text.empty() ? "" : ", ") + o;
  }
  expect(r.failure.empty() && outcomes == demand, name, text);
}

/// Expects that some execution fails in this way, or none if `failure` is empty.
template <class... Threads>
void expect_failure(char const* name, std::string const& failure, Threads... threads) {
  std::set<std::string> outcomes;
  program const p{name, sizeof...(Threads), [&] { return new litmus<Threads...>(&outcomes, 0, false, threads...); }};
  std::string const text = explore(p).failure;
  expect(text == failure, name, text.empty() ? "no failure" : text);
}

auto const no_fence = [] {};
std::set<std::string> const any_two{"00", "01", "10", "11"};
std::set<std::string> const not_00{"01", "10", "11"};

/// Store buffering: each thread stores, then loads what the other stores.
template <class A, class B>
void store_buffering(char const* name, std::set<std::string> const& demand, A between_a, B between_b) {
  expect_outcomes(
      name, demand, 2, false, [=](memory& m) { m.x.store(1, rlx), between_a(), m.r[0] = m.y.load(rlx); },
      [=](memory& m) { m.y.store(1, rlx), between_b(), m.r[1] = m.x.load(rlx); });
}

/// Message passing: a flag follows plain data.
template <class A, class B>
void message_passing(char const* name, std::string const& failure, std::memory_order stores, std::memory_order loads,
                     A before_store, B behind_load) {
  expect_failure(
      name, failure, [=](memory& m) { m.data = 1, before_store(), m.x.store(1, stores); },
      [=](memory& m) {
        if (m.x.load(loads) == 1) {
          behind_load();
          require(m.data == 1, "another value");
        }
      });
}

/// Independent reads of independent writes: two readers see two stores in one order, or each in its own.
template <class F>
void independent_reads(char const* name, bool may_differ, std::memory_order loads, F fence) {
  std::set<std::string> demand;
  for (int i = 0; i < 16; ++i) {
    std::string const text{static_cast<char>('0' + (i >> 3 & 1)), static_cast<char>('0' + (i >> 2 & 1)),
                           static_cast<char>('0' + (i >> 1 & 1)), static_cast<char>('0' + (i & 1))};
    if (may_differ || text != "1010") {
      demand.insert(text);
    }
  }
  expect_outcomes(
      name, demand, 4, false, [](memory& m) { m.x.store(1, release); }, [](memory& m) { m.y.store(1, release); },
      [=](memory& m) { m.r[0] = m.x.load(loads), fence(), m.r[1] = m.y.load(loads); },
      [=](memory& m) { m.r[2] = m.y.load(loads), fence(), m.r[3] = m.x.load(loads); });
}

void membarrier() noexcept {
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

}  // namespace

bool litmus_tests_hold() {
  store_buffering("store buffering, relaxed", any_two, no_fence, no_fence);
  store_buffering("store buffering, one fence", any_two, full_fence, no_fence);
  store_buffering(
      "store buffering, fences that release and acquire", any_two,
      [] { std::atomic_signal_fence(acq_rel), release_fence(), acquire_fence(); },
      [] { release_fence(), acquire_fence(); });
  store_buffering("store buffering, two fences", not_00, full_fence, full_fence);
  store_buffering("store buffering, membarrier by one", not_00, membarrier, no_fence);
  expect_outcomes(
      "store buffering, updates of one word between", not_00, 2, false,
      [](memory& m) { m.x.store(1, rlx), m.z.fetch_add(1, acq_rel), m.r[0] = m.y.load(rlx); },
      [](memory& m) { m.y.store(1, rlx), m.z.fetch_add(1, acq_rel), m.r[1] = m.x.load(rlx); });

  std::string const race = "a race of a plain read with a plain write";
  std::string const other_race = "a race of a plain write with a plain read";
  message_passing("message passing, release and acquire", "", release, acquire, no_fence, no_fence);
  message_passing("message passing, fences", "", rlx, rlx, release_fence, acquire_fence);
  message_passing("message passing, stores relaxed", race, rlx, acquire, no_fence, no_fence);
  message_passing("message passing, loads relaxed", race, release, rlx, no_fence, no_fence);
  message_passing("message passing, release without acquire fence", race, rlx, rlx, release_fence, no_fence);
  message_passing("message passing, acquire without release fence", race, rlx, rlx, no_fence, acquire_fence);
  expect_outcomes(
      "message passing, atomic data, relaxed", any_two, 2, false,
      [](memory& m) { m.x.store(1, rlx), m.y.store(1, rlx); },
      [](memory& m) { m.r[0] = m.y.load(rlx), m.r[1] = m.x.load(rlx); });
  expect_outcomes(
      "message passing, atomic data, release and acquire", {"00", "01", "11"}, 2, false,
      [](memory& m) { m.x.store(1, rlx), m.y.store(1, release); },
      [](memory& m) { m.r[0] = m.y.load(acquire), m.r[1] = m.x.load(rlx); });
  expect_failure(
      "a read before the other's write", other_race,
      [](memory& m) {
        if (m.x.exchange(1, rlx) == 0) {
          require(m.data == 0, "another value");
        }
      },
      [](memory& m) {
        if (m.x.exchange(1, rlx) == 1) {
          m.data = 1;
        }
      });

  // 2+2W: the final memory. "11" needs both first stores behind the others' second ones.
  auto const two_writes = [](char const* name, std::set<std::string> const& demand, auto fence) {
    expect_outcomes(
        name, demand, 0, true, [=](memory& m) { m.x.store(1, rlx), fence(), m.y.store(2, rlx); },
        [=](memory& m) { m.y.store(1, rlx), fence(), m.x.store(2, rlx); });
  };
  two_writes("2+2W, relaxed", {" 11", " 12", " 21", " 22"}, no_fence);
  two_writes("2+2W, two fences", {" 12", " 21", " 22"}, full_fence);
  // R and S: a store is ordered behind another one that its thread has not read.
  expect_outcomes(
      "R, relaxed", {"0 11", "0 12", "1 11", "1 12"}, 1, true, [](memory& m) { m.x.store(1, rlx), m.y.store(1, rlx); },
      [](memory& m) { m.y.store(2, rlx), m.r[0] = m.x.load(rlx); });
  expect_outcomes(
      "R, two fences", {"0 11", "1 11", "1 12"}, 1, true,
      [](memory& m) { m.x.store(1, rlx), full_fence(), m.y.store(1, rlx); },
      [](memory& m) { m.y.store(2, rlx), full_fence(), m.r[0] = m.x.load(rlx); });
  expect_outcomes(
      "S, relaxed", {"0 11", "0 21", "1 11", "1 21"}, 1, true, [](memory& m) { m.x.store(2, rlx), m.y.store(1, rlx); },
      [](memory& m) { m.r[0] = m.y.load(rlx), m.x.store(1, rlx); });
  expect_outcomes(
      "S, release and acquire", {"0 11", "0 21", "1 11"}, 1, true,
      [](memory& m) { m.x.store(2, rlx), m.y.store(1, release); },
      [](memory& m) { m.r[0] = m.y.load(acquire), m.x.store(1, rlx); });

  independent_reads("IRIW, acquire", true, acquire, no_fence);
  independent_reads("IRIW, fences", false, rlx, full_fence);

  expect_outcomes(
      "CoRR", {"00", "01", "11"}, 2, false, [](memory& m) { m.x.store(1, rlx); },
      [](memory& m) { m.r[0] = m.x.load(rlx), m.r[1] = m.x.load(rlx); });
  expect_outcomes(
      "CoRR, two writers",
      {"0000", "0001", "0002", "0011", "0012", "0022", "0021", "0100", "0101", "0102", "0111", "0112",
       "0122", "0121", "0200", "0201", "0202", "0211", "0212", "0222", "0221", "1100", "1101", "1102",
       "1111", "1112", "1122", "1121", "1200", "1201", "1202", "1211", "1212", "1222", "2200", "2201",
       "2202", "2211", "2212", "2222", "2221", "2100", "2101", "2102", "2111", "2122", "2121"},
      4, false, [](memory& m) { m.x.store(1, rlx); }, [](memory& m) { m.x.store(2, rlx); },
      [](memory& m) { m.r[0] = m.x.load(rlx), m.r[1] = m.x.load(rlx); },
      [](memory& m) { m.r[2] = m.x.load(rlx), m.r[3] = m.x.load(rlx); });
  expect_outcomes(
      "CoWR, two writers", {"1 10", "1 20", "2 20"}, 1, true, [](memory& m) { m.x.store(2, rlx); },
      [](memory& m) { m.x.store(1, rlx), m.r[0] = m.x.load(rlx); });

  // Release sequences: an update continues one, a later store of the same thread does not (C++20).
  auto const sequence = [](char const* name, std::string const& failure, auto first, auto second) {
    expect_failure(
        name, failure, [=](memory& m) { m.data = 1, first(m); }, [=](memory& m) { second(m); },
        [](memory& m) {
          if (m.x.load(acquire) == 3) {
            require(m.data == 1, "another value");
          }
        });
  };
  sequence(
      "release sequence, relaxed update", "", [](memory& m) { m.x.store(1, release); },
      [](memory& m) {
        int old_value = 1;
        m.x.compare_exchange_strong(old_value, 3, rlx);
      });
  sequence(
      "release sequence, store of another thread", race, [](memory& m) { m.x.store(1, release); },
      [](memory& m) {
        if (m.x.load(rlx) == 1) {
          m.x.store(3, rlx);
        }
      });
  sequence(
      "release sequence, store of the same thread", race, [](memory& m) { m.x.store(1, release), m.x.store(3, rlx); },
      [](memory&) {});
  sequence(
      "release fence, two later stores", "", [](memory& m) { release_fence(), m.x.store(1, rlx), m.x.store(3, rlx); },
      [](memory&) {});

  expect_outcomes(
      "updates of one word", {"01 20", "10 20"}, 2, true, [](memory& m) { m.r[0] = m.x.fetch_add(1, rlx); },
      [](memory& m) { m.r[1] = m.x.fetch_add(1, rlx); });
  expect_outcomes(
      "an update and a store", {"0 50", "5 60"}, 1, true, [](memory& m) { m.r[0] = m.x.fetch_add(1, rlx); },
      [](memory& m) { m.x.store(5, rlx); });
  expect_outcomes(
      "WRC, release and acquire", {"000", "001", "010", "011", "100", "101", "111"}, 3, false,
      [](memory& m) { m.x.store(1, rlx); }, [](memory& m) { m.r[0] = m.x.load(acquire), m.y.store(1, release); },
      [](memory& m) { m.r[1] = m.y.load(acquire), m.r[2] = m.x.load(rlx); });

  // Excluded by the model: a load never reads a store that its own thread makes possible.
  expect_outcomes(
      "load buffering (not modelled)", {"00", "01", "10"}, 2, false,
      [](memory& m) { m.r[0] = m.x.load(rlx), m.y.store(1, rlx); },
      [](memory& m) { m.r[1] = m.y.load(rlx), m.x.store(1, rlx); });

  // Waiting
  expect_failure(
      "a loop that ends", "", [](memory& m) { m.x.store(1, rlx); },
      [](memory& m) { await([&] { return m.x.load(rlx) == 1; }); });
  expect_failure(
      "a loop that does not end", "a thread waits for ever", [](memory& m) { m.x.store(2, rlx); },
      [](memory& m) { await([&] { return m.x.load(rlx) == 1; }); });
  expect_failure(
      "a ring that is missed", "a thread waits for ever",
      [](memory& m) {
        m.x.store(1, rlx);
        if (m.y.load(rlx) == 1) {
          ring(1);
        }
      },
      [](memory& m) {
        m.y.store(1, rlx);
        if (m.x.load(rlx) == 0) {
          await_ring();
        }
      });
  return !has_failed;
}

}  // namespace weak
