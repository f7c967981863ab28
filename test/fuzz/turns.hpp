// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fuzz {

/// Runs functions as threads that take turns. One runs until it waits or ends, then the next one: the order of all
/// steps follows from the input alone.
class turns {
 public:
  /// Runs all functions to their ends.
  void run(std::vector<std::function<void()>> const& functions) {
    is_over_.assign(functions.size(), false);
    current_ = 0;
    idle_count_ = 0;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != functions.size(); ++i) {
      threads.emplace_back([&, i] {
        await(i);
        functions[i]();
        is_over_[i] = true;
        pass(i);
      });
    }
    for (std::thread& t : threads) {
      t.join();
    }
  }

  /// Lets the other threads run, for one that waits. Returns false if all of them wait.
  bool wait() {
    if (++idle_count_ > is_over_.size()) {
      idle_count_ = 0;
      return false;
    }
    std::size_t const self = current_;
    pass(self);
    await(self);
    return true;
  }
  /// Notes that a thread may have something to do.
  void wake() noexcept { idle_count_ = 0; }

 private:
  void await(std::size_t i) {
    std::unique_lock lock(mutex_);
    turn_changes_.wait(lock, [&] { return current_ == i; });
  }
  void pass(std::size_t self) {
    std::size_t next = self;
    do {
      next = (next + 1) % is_over_.size();
    } while (is_over_[next] && next != self);
    std::lock_guard const lock(mutex_);
    current_ = next;
    turn_changes_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable turn_changes_;
  std::size_t current_ = 0;
  std::size_t idle_count_ = 0;  ///< waits since a thread had something to do
  std::vector<char> is_over_;
};

}  // namespace fuzz
