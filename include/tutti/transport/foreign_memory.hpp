// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/types.hpp>
#include <tutti/transport/mail_segment.hpp>
#include <tutti/transport/sleep_barrier.hpp>

#include <atomic>
#include <cstdint>
#include <sched.h>
#include <unistd.h>

namespace tutti {

/// Sees to it that memory outlives those who work in it: while a world is well, tickets say when a
/// message has been read; after a fault its owner waits until nobody touches it any more.
///
/// Each rank has a mark that says that it touches others' memory. Who touches sets it and then looks
/// for a fault; who wants its memory back sees to a fault and then looks at the marks. Each has a
/// fence between its store and its load, so one of the two sees the other.
///
/// Used by one thread at a time. No call waits, except `quiesce`.
class foreign_memory {
 public:
  foreign_memory(mail_segment const& segment, rank_type self) noexcept : segment_(segment), self_(self) {}

  /// Asks to read or write others' memory, once more than before. False after a fault: then it is not allowed.
  [[nodiscard]] bool start_touching() noexcept {
    if (touching_ == 0) {
      mark().store(1, std::memory_order_relaxed);
      store_load_fence();
      if (segment_.fault().load(std::memory_order_acquire) != 0) {
        touch_no_more();
        return false;
      }
    }
    ++touching_;
    return true;
  }
  /// Ends what one `start_touching` began.
  void stop_touching() noexcept {
    if (touching_ != 0 && --touching_ == 0) {
      mark().store(0, std::memory_order_release);
    }
  }
  /// Ends all of it.
  void touch_no_more() noexcept {
    touching_ = 0;
    mark().store(0, std::memory_order_release);
  }

  /// Returns when no peer for which `lives(rank)` holds touches this rank's memory, nor will. That takes a moment;
  /// but a peer that was stopped in the act, by a signal or a debugger, is waited for until it goes on or dies: to
  /// return would be to hand back memory that it may yet write to.
  /// @pre there is a fault
  template <class Lives>
  void quiesce(Lives&& lives) noexcept {
    touch_no_more();
    store_load_fence();
    for (rank_type peer = 0; peer < segment_.size(); ++peer) {
      for (int waits = 0; segment_.member(peer).touching.load(std::memory_order_acquire) != 0 && lives(peer); ++waits) {
        if (waits < 1000) {
          ::sched_yield();
        } else {
          ::usleep(1000);
        }
      }
    }
  }

 private:
  [[nodiscard]] std::atomic<std::uint32_t>& mark() noexcept { return segment_.member(self_).touching; }

  mail_segment segment_;
  std::uint32_t touching_ = 0;
  rank_type self_;
};

}  // namespace tutti
