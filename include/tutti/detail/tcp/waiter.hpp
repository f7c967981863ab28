// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/types.hpp>

#include <sys/epoll.h>
#include <sys/timerfd.h>

namespace tutti::inline v0_1_0::detail::tcp {

/// Waits for many descriptors and one time. Tags each descriptor with its source and a rank (a pending connection: with
/// its descriptor).
class waiter {
 public:
  enum class source : std::uint32_t { listener, pending_connection, connect_attempt, connection, clock, foreign };

  waiter()
      : epoll_([] { return ::epoll_create1(EPOLL_CLOEXEC); }),
        clock_([] { return ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); }) {
    if (!epoll_ || !clock_) {
      throw error(failure::join,
                  "cannot create the epoll and timer descriptors of a tcp transport: " + advise_on_errno(errno));
    }
    add(clock_.get(), source::clock, 0, false);
  }
  [[nodiscard]] int fd() const noexcept { return epoll_.get(); }

  void add(int fd, source kind, rank_type rank, bool writable) const noexcept {
    control(EPOLL_CTL_ADD, fd, kind, rank, writable);
  }
  void change(int fd, source kind, rank_type rank, bool writable) const noexcept {
    control(EPOLL_CTL_MOD, fd, kind, rank, writable);
  }
  /// Must precede closing a descriptor or giving it another source.
  void remove(int fd) const noexcept { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  /// Wakes at `time`, too. Only the earliest time is kept; a caller that wakes early asks again.
  void wake_at(time_point time) noexcept {
    if (time < wake_time_ || wake_time_ == time_point::zero()) {
      wake_time_ = time;
      auto const s = std::chrono::duration_cast<std::chrono::seconds>(time);
      itimerspec setting{};
      setting.it_value.tv_sec = integer_cast<decltype(setting.it_value.tv_sec)>(s.count());
      setting.it_value.tv_nsec = integer_cast<decltype(setting.it_value.tv_nsec)>((time - s).count());
      ::timerfd_settime(clock_.get(), TFD_TIMER_ABSTIME, &setting, nullptr);
    }
  }
  /// Clears the clock after it woke a rank.
  void clear_clock() noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] auto const result = ::read(clock_.get(), &count, sizeof count);
    wake_time_ = time_point::zero();
  }

  /// Calls f(source, rank) for each descriptor that is ready.
  template <class F>
  void poll(F f) const {
    epoll_event events[32];
    int const n = ::epoll_wait(epoll_.get(), events, 32, 0);
    for (int i = 0; i < n; ++i) {
      f(static_cast<source>(events[i].data.u64 >> 32), static_cast<rank_type>(events[i].data.u64));
    }
  }

 private:
  void control(int operation, int fd, source kind, rank_type rank, bool writable) const noexcept {
    epoll_event e{};
    e.events = EPOLLIN | (writable ? EPOLLOUT : 0U);
    e.data.u64 = static_cast<std::uint64_t>(kind) << 32 | rank;
    ::epoll_ctl(epoll_.get(), operation, fd, &e);
  }

  descriptor epoll_;
  descriptor clock_;
  time_point wake_time_{};  ///< zero: not set
};

}  // namespace tutti::detail::tcp
