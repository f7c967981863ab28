// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/owned.hpp>

#include <cstddef>
#include <thread>
#include <utility>

namespace tutti::inline v0_1_0::detail {

/// Threads that are waited for on every way out of their scope. What the standard has for that is behind
/// -fexperimental-library in libc++.
class joined_threads {
 public:
  /// Has room for `n` threads.
  explicit joined_threads(std::size_t n) : threads_(n) {}
  joined_threads(joined_threads const&) = delete;
  joined_threads& operator=(joined_threads const&) = delete;
  ~joined_threads() {
    uncancelled const while_joining;
    for (std::size_t i = 0; i != size_; ++i) {
      threads_[i].join();
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// @pre there is room. @throws std::system_error if no thread can be had
  template <class... What>
  void start(What&&... what) {
    threads_[size_] = std::thread(std::forward<What>(what)...);
    ++size_;
  }

 private:
  owned_array<std::thread> threads_;
  std::size_t size_ = 0;  ///< how many of them have been started
};

}  // namespace tutti::detail
