// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/peer_memory.hpp>
#include <tutti/detail/shared_memory/peer_processes.hpp>
#include <tutti/extend/intrusive_pointer.hpp>

#include <atomic>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// The processes of a shared_memory world as seen by one of them, for that world and all worlds split from it.
class shared_peers {
 public:
  static intrusive_pointer<shared_peers> create() { return intrusive_pointer<shared_peers>(new shared_peers); }

  peer_memory memory;
  peer_processes processes;

  /// True if this process can read the memory of all that made these offers, and can tell them from later processes
  /// with their numbers. @pre `processes` has opened them
  template <class Offers>
  [[nodiscard]] bool can_read(Offers const& offers) {
    for (rank_type r = 0; r < offers.size(); ++r) {
      if (!processes.can_observe(r)) {
        return false;
      }
    }
    return memory.can_read(offers);
  }
  /// Copies from another rank's memory. Returns false with an errno if it cannot read all of it, or if that process has
  /// ended: its number may be that of another process by now. Cost: two system calls.
  [[nodiscard]] bool copy(rank_type owner, std::uintptr_t address, std::byte* target,
                          std::size_t bytes) const noexcept {
    if (memory.copy(owner, address, target, bytes)) {
      errno = ESRCH;
      return !processes.has_ended(owner);
    }
    return false;
  }

  void add_reference() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

 private:
  shared_peers() noexcept = default;
  ~shared_peers() = default;

  std::atomic<std::uint32_t> holders_{1};
};

}  // namespace tutti::detail::shared_memory
