// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/language.hpp>

#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

namespace tutti::detail {

/// Threads that are waited for on every way out of their scope. What the standard has for that is behind
/// -fexperimental-library in libc++.
class joined_threads {
 public:
  /// Has room for `n` threads.
  explicit joined_threads(std::size_t n) { threads_.reserve(n); }
  joined_threads(joined_threads const&) = delete;
  joined_threads& operator=(joined_threads const&) = delete;
  ~joined_threads() {
    for (std::thread& t : threads_) {
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
  std::vector<std::thread> threads_;
};

}  // namespace tutti::detail
