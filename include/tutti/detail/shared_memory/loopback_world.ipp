// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/core_set.hpp>
#include <tutti/detail/core/monitor.hpp>
#include <tutti/detail/shared_memory/loopback_world.hpp>
#include <tutti/extend/error.hpp>

#include <new>
#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// The worlds of this process, as a list. A world is found and held under one lock.
struct loopback_world::registry {
  static monitor& guard() noexcept {
    static monitor m;
    return m;
  }
  inline static loopback_world* first = nullptr;
  inline static std::uint64_t last_number = 0;

  static constexpr std::size_t page = 4096;
  [[nodiscard]] static constexpr std::size_t chunks_begin(rank_type n) noexcept {
    return (mail_segment::bytes(n) + page - 1) / page * page;
  }
};

TUTTI_DECL loopback_world::loopback_world(rank_type n)
    : loopback_world(n, n > core_set::of_thread(::getpid()).usable()) {}
TUTTI_DECL loopback_world::loopback_world(rank_type n, bool is_oversubscribed)
    : shape_(ring_shape::recommend(is_oversubscribed)),
      segment_(static_cast<std::byte*>(
                   ::operator new(registry::chunks_begin(n) + n * shape_.bytes(), std::align_val_t{registry::page})),
               n),
      bells_(n),
      barrier_(sleep_barrier::is_offered(!is_oversubscribed)) {}
TUTTI_DECL loopback_world::~loopback_world() {
  ::operator delete(segment_.base(), std::align_val_t{registry::page});
}

TUTTI_DECL std::string loopback_world::text() const {
  return std::to_string(::getpid()) + ":" + std::to_string(number_);
}

TUTTI_DECL void loopback_world::leaver::operator()(loopback_world* world) const noexcept {
  {
    monitor_lock const lock(registry::guard());
    if (--world->holders_ != 0) {
      return;
    }
    for (loopback_world** link = &registry::first; *link != nullptr; link = &(*link)->next_) {
      if (*link == world) {
        *link = world->next_;
        break;
      }
    }
  }
  delete world;
}

TUTTI_DECL loopback_world::handle loopback_world::create(rank_type n, std::string& text) {
  handle world(new loopback_world(n));
  monitor_lock const lock(registry::guard());
  world->number_ = ++registry::last_number;
  world->next_ = std::exchange(registry::first, world.get());
  text = world->bells().complete() ? world->text() : "";
  return world;
}
TUTTI_DECL loopback_world::handle loopback_world::find(std::string_view text) {
  monitor_lock const lock(registry::guard());
  for (loopback_world* w = registry::first; w != nullptr; w = w->next_) {
    if (text == w->text()) {
      ++w->holders_;
      return handle(w);
    }
  }
  return handle();
}

TUTTI_DECL void loopback_world::refuse(rank_type me, rank_type other, bool no_descriptors) {
  throw error(failure::join,
              no_descriptors ? "no file descriptors are left to wake the threads; allow this process more (ulimit -n)"
                             : "loopback joins threads of one process, and rank " + std::to_string(other) +
                                   " is in another; use shared_memory or tcp")
      .set_ranks(me, {other});
}

TUTTI_DECL chunk_ring loopback_world::chunks(rank_type r) const {
  return {segment_.base() + registry::chunks_begin(segment_.size()) + r * shape_.bytes(), shape_};
}

}  // namespace tutti::detail::shared_memory
