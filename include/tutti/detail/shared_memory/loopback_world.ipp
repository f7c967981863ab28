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

/// The worlds of this process, a list; one that was found cannot go away before it is held.
struct loopback_world::all {
  static monitor& guard() noexcept {
    static monitor m;
    return m;
  }
  inline static loopback_world* first = nullptr;
  inline static std::uint64_t last = 0;

  static constexpr std::size_t page = 4096;
  [[nodiscard]] static constexpr std::size_t chunks_begin(rank_type n) noexcept {
    return (mail_segment::bytes(n) + page - 1) / page * page;
  }
};

TUTTI_DECL loopback_world::loopback_world(rank_type n)
    : loopback_world(n, n > core_set::of_thread(::getpid()).usable()) {}
TUTTI_DECL loopback_world::loopback_world(rank_type n, bool ranks_share_cores)
    : shape_(ring_shape::suiting(ranks_share_cores)),
      segment_(static_cast<std::byte*>(
                   ::operator new(all::chunks_begin(n) + n * shape_.bytes(), std::align_val_t{all::page})),
               n),
      bells_(n),
      barrier_(sleep_barrier::offered(!ranks_share_cores)) {}
TUTTI_DECL loopback_world::~loopback_world() {
  ::operator delete(segment_.base(), std::align_val_t{all::page});
}

TUTTI_DECL std::string loopback_world::text() const {
  return std::to_string(::getpid()) + ":" + std::to_string(number_);
}

TUTTI_DECL void loopback_world::leave::operator()(loopback_world* world) const noexcept {
  {
    held const lock(all::guard());
    if (--world->holders_ != 0) {
      return;
    }
    for (loopback_world** at = &all::first; *at != nullptr; at = &(*at)->next_) {
      if (*at == world) {
        *at = world->next_;
        break;
      }
    }
  }
  delete world;
}

TUTTI_DECL loopback_world::handle loopback_world::create(rank_type n, std::string& text) {
  handle world(new loopback_world(n));
  held const lock(all::guard());
  world->number_ = ++all::last;
  world->next_ = std::exchange(all::first, world.get());
  text = world->bells().complete() ? world->text() : "";
  return world;
}
TUTTI_DECL loopback_world::handle loopback_world::find(std::string_view text) {
  held const lock(all::guard());
  for (loopback_world* w = all::first; w != nullptr; w = w->next_) {
    if (text == w->text()) {
      ++w->holders_;
      return handle(w);
    }
  }
  return handle();
}

TUTTI_DECL void loopback_world::refuse(rank_type me, rank_type them, bool no_descriptors) {
  throw error(failure::join,
              no_descriptors
                  ? "there are no file descriptors left to wake the threads by; allow this process more (ulimit -n)"
                  : "loopback joins threads of one process, and rank " + std::to_string(them) +
                        " is in another; use shared_memory or tcp")
      .between(me, {them});
}

TUTTI_DECL chunk_ring loopback_world::chunks(rank_type r) const {
  return {segment_.base() + all::chunks_begin(segment_.size()) + r * shape_.bytes(), shape_};
}

}  // namespace tutti::detail::shared_memory
