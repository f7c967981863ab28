// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/foreign_memory.hpp>

#include <sched.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

TUTTI_DECL void foreign_memory::quiesce(death_check const& has_died, time_point readers_until) noexcept {
  touch_no_more();
  store_load_fence();
  for (rank_type peer = 0; peer < segment_.size(); ++peer) {
    for (int waits = 0;; ++waits) {
      std::uint32_t const mark = segment_.member(peer).touching.load(std::memory_order_acquire);
      bool const is_own = (mark & owners) == self_ + 1 || (mark & owners) == owners;
      if (!is_own || has_died(peer) || ((mark & writing) == 0 && waits > 1000 && steady_now() > readers_until)) {
        break;
      }
      if (waits < 1000) {
        ::sched_yield();
      } else {
        ::usleep(1000);
      }
    }
  }
}

}  // namespace tutti::detail::shared_memory
