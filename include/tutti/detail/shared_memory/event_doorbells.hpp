// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/types.hpp>

#include <cstdint>
#include <sys/eventfd.h>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Wakes the threads of one process by an eventfd for each rank. All ranks own them together: a descriptor closed while
/// a peer rings it may already be another file.
class event_doorbells {
 public:
  /// Opens the bells; `complete()` tells if there were enough descriptors.
  explicit event_doorbells(rank_type n) : bells_(n) {
    for (rank_type r = 0; r < n && complete_; ++r) {
      bells_[r] = descriptor([] { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
      complete_ = static_cast<bool>(bells_[r]);
    }
  }

  [[nodiscard]] bool complete() const noexcept { return complete_; }
  [[nodiscard]] int descriptor_of(rank_type r) const noexcept { return bells_[r].get(); }

  void ring(rank_type r) const noexcept {
    std::uint64_t const increment = 1;
    // Fails only if the count is full, and then the descriptor is readable.
    [[maybe_unused]] auto const result = ::write(descriptor_of(r), &increment, sizeof increment);
  }
  void clear(rank_type r) const noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] auto const result = ::read(descriptor_of(r), &count, sizeof count);
  }

 private:
  owned_array<descriptor> bells_;
  bool complete_ = true;
};

}  // namespace tutti::detail::shared_memory
