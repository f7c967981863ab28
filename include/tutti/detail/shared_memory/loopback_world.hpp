// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/shared_memory/chunk_ring.hpp>
#include <tutti/detail/shared_memory/event_doorbells.hpp>
#include <tutti/detail/shared_memory/mail_segment.hpp>
#include <tutti/detail/shared_memory/sleep_barrier.hpp>
#include <tutti/extend/types.hpp>

#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// State that the threads of one loopback world share, until the last of them leaves.
class loopback_world {
 public:
  struct leaver {
    TUTTI_DECL void operator()(loopback_world* world) const noexcept;
  };
  using handle = owner<loopback_world, leaver>;

  /// Makes a world, and the text by which other threads find it; the text is empty if descriptors are missing.
  TUTTI_DECL static handle create(rank_type n, std::string& text);
  /// Returns null if this process has no such world.
  [[nodiscard]] TUTTI_DECL static handle find(std::string_view text);
  /// @throws error(failure::join): rank `other` did not find the world, or descriptors are missing
  [[noreturn]] TUTTI_DECL static void refuse(rank_type me, rank_type other, bool no_descriptors);

  loopback_world(loopback_world const&) = delete;
  loopback_world& operator=(loopback_world const&) = delete;

  [[nodiscard]] mail_segment& segment() noexcept { return segment_; }
  /// The memory to which a rank copies messages.
  [[nodiscard]] TUTTI_DECL chunk_ring chunks(rank_type r) const;
  [[nodiscard]] event_doorbells& bells() noexcept { return bells_; }
  [[nodiscard]] sleep_barrier barrier() const noexcept { return barrier_; }

 private:
  struct registry;

  TUTTI_DECL explicit loopback_world(rank_type n);
  TUTTI_DECL loopback_world(rank_type n, bool is_oversubscribed);
  TUTTI_DECL ~loopback_world();

  [[nodiscard]] TUTTI_DECL std::string text() const;

  ring_shape shape_;
  mail_segment segment_;
  event_doorbells bells_;
  sleep_barrier barrier_;
  std::uint64_t number_ = 0;
  std::uint32_t holders_ = 1;
  loopback_world* next_ = nullptr;
};

}  // namespace tutti::detail::shared_memory

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/shared_memory/loopback_world.ipp>
#endif
