// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <sched.h>
#include <thread>
#include <vector>

namespace bench {

/// State shared by the threads of a limit: a place for each, which publishes its vectors and its progress.
struct board {
  static constexpr std::size_t line_floats = 14;
  static constexpr std::size_t lines_deep = 64;
  static constexpr std::size_t slots_floats = 64 * 1024;  ///< total of all slots of a rank, which stays in its cache

  /// A short vector and its number, in one cache line.
  struct alignas(64) line {
    std::atomic<std::uint64_t> number{0};
    std::array<float, line_floats> values{};
  };
  struct alignas(64) place {
    std::atomic<std::uint64_t> number{0};
    alignas(64) float const* input = nullptr;
    float* output = nullptr;
    std::vector<line> lines = std::vector<line>(lines_deep);
    std::vector<float> slots = std::vector<float>(slots_floats);
  };

  explicit board(unsigned size) : places(size) {}
  std::vector<place> places;
};

/// The progress of one thread, which waits for others: it spins if each has a core, and yields otherwise.
class steps {
 public:
  steps(unsigned rank, board& state)
      : rank_(rank), state_(&state), is_oversubscribed_(state.places.size() > std::thread::hardware_concurrency()) {}

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  /// Announces that this rank has reached its next step.
  void announce() noexcept { state_->places[rank_].number.store(++number_, std::memory_order_release); }

  void await(std::atomic<std::uint64_t> const& counter, std::uint64_t at_least) const noexcept {
    for (unsigned i = 0; counter.load(std::memory_order_acquire) < at_least; ++i) {
      if (is_oversubscribed_ && i > 64) {
        ::sched_yield();
      } else {
        __builtin_ia32_pause();
      }
    }
  }
  void await_all(std::uint64_t at_least) const noexcept {
    for (board::place const& p : state_->places) {
      await(p.number, at_least);
    }
  }
  void meet() noexcept {
    announce();
    await_all(number_);
  }

 private:
  unsigned rank_;
  board* state_;
  bool is_oversubscribed_;
  std::uint64_t number_ = 0;
};

}  // namespace bench
