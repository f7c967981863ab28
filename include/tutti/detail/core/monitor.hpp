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
    pthread_condattr_t attributes;
    ::pthread_condattr_init(&attributes);
    ::pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    ::pthread_cond_init(&condition_, &attributes);
    ::pthread_condattr_destroy(&attributes);
  }
  monitor(monitor const&) = delete;
  monitor& operator=(monitor const&) = delete;
  ~monitor() {
    ::pthread_cond_destroy(&condition_);
    ::pthread_mutex_destroy(&mutex_);
  }

  void lock() noexcept { ::pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

  /// Waits for `notify_all` or the deadline; may also return spuriously.
  /// @pre this thread holds the monitor, as it does again afterwards
  void wait_until(time_point deadline) noexcept {
    constexpr long long second = 1'000'000'000;
    timespec end{};
    end.tv_sec = static_cast<std::time_t>(deadline.count() / second);
    end.tv_nsec = static_cast<long>(deadline.count() % second);
    ::pthread_cond_timedwait(&condition_, &mutex_, &end);
  }
  void notify_all() noexcept { ::pthread_cond_broadcast(&condition_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition_;
};

/// Holds a monitor until the end of the block.
class monitor_lock {
 public:
  explicit monitor_lock(monitor& target) noexcept : monitor_(target) { monitor_.lock(); }
  monitor_lock(monitor_lock const&) = delete;
  monitor_lock& operator=(monitor_lock const&) = delete;
  ~monitor_lock() { monitor_.unlock(); }

 private:
  monitor& monitor_;
};

}  // namespace tutti::detail::core
