// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

namespace tutti::detail {

/// Threads that are waited for on every way out of their scope. What the standard has for that is behind
/// -fexperimental-library in libc++.
template <class Thread>
class basic_joined_threads {
 public:
  /// Has room for `n` threads.
  explicit basic_joined_threads(std::size_t n) { threads_.reserve(n); }
  basic_joined_threads(basic_joined_threads const&) = delete;
  basic_joined_threads& operator=(basic_joined_threads const&) = delete;
  ~basic_joined_threads() {
    for (Thread& t : threads_) {
      t.join();
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return threads_.size(); }

  /// @throws std::system_error if no thread can be had
  template <class... What>
  void start(What&&... what) {
    threads_.emplace_back(std::forward<What>(what)...);
  }

 private:
  std::vector<Thread> threads_;
};

using joined_threads = basic_joined_threads<std::thread>;

}  // namespace tutti::detail
