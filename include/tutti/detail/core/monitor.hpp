// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>

#include <ctime>
#include <pthread.h>

namespace tutti::inline v0_1_0::detail::inline core {

/// A mutex with a condition variable: <mutex> and <condition_variable> take ten times as long to parse as their POSIX
/// equivalents. Waits by the steady clock.
class monitor {
 public:
  monitor() noexcept {
    pthread_condattr_t by;
    ::pthread_condattr_init(&by);
    ::pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
    ::pthread_cond_init(&changed_, &by);
    ::pthread_condattr_destroy(&by);
  }
  monitor(monitor const&) = delete;
  monitor& operator=(monitor const&) = delete;
  ~monitor() {
    ::pthread_cond_destroy(&changed_);
    ::pthread_mutex_destroy(&mutex_);
  }

  void lock() noexcept { ::pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

  /// Waits for `notify_all` or the deadline; may also return spuriously.
  /// @pre this thread holds the monitor, as it does again afterwards
  void wait_until(time_point deadline) noexcept {
    constexpr long long second = 1'000'000'000;
    timespec until{};
    until.tv_sec = static_cast<std::time_t>(deadline.count() / second);
    until.tv_nsec = static_cast<long>(deadline.count() % second);
    ::pthread_cond_timedwait(&changed_, &mutex_, &until);
  }
  void notify_all() noexcept { ::pthread_cond_broadcast(&changed_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_;
};

/// Holds a monitor until the end of the block.
class held {
 public:
  explicit held(monitor& m) noexcept : m_(m) { m_.lock(); }
  held(held const&) = delete;
  held& operator=(held const&) = delete;
  ~held() { m_.unlock(); }

 private:
  monitor& m_;
};

}  // namespace tutti::detail::core
