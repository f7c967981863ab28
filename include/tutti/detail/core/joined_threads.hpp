// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/time.hpp>

#include <cerrno>
#include <cstddef>
#include <ctime>
#include <pthread.h>

namespace tutti::inline v0_1_0::detail::inline core {

/// Threads that are joined on every exit from their scope. The standard class for that needs -fexperimental-library in
/// libc++, and <thread> takes 0.1 s to parse.
class joined_threads {
 public:
  /// Makes room for `n` threads.
  explicit joined_threads(std::size_t n) : threads_(n) {}
  joined_threads(joined_threads const&) = delete;
  joined_threads& operator=(joined_threads const&) = delete;
  ~joined_threads();

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Starts a thread that calls `body(i)`, with i counted from 0. All threads share `body`, which outlives this object.
  /// @pre there is room. @throws std::system_error if no thread can be created
  template <class Body>
  void start(Body const& body) {
    start([](void const* object, std::size_t number) { (*static_cast<Body const*>(object))(number); }, &body);
  }

 private:
  using body_call = void (*)(void const* body, std::size_t number);
  struct thread {
    ::pthread_t id;
    body_call call;
    void const* body;
    std::size_t number;
  };

  void start(body_call call, void const* body);

  owned_array<thread> threads_;
  std::size_t size_ = 0;  ///< number of threads started
};

/// Blocks the calling thread for a time: std::this_thread::sleep_for without <thread>.
inline void sleep_for(duration d) {
  constexpr long long second = 1'000'000'000;
  timespec left{};
  left.tv_sec = static_cast<std::time_t>(d.count() / second);
  left.tv_nsec = static_cast<long>(d.count() % second);
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/joined_threads.ipp>
#endif
