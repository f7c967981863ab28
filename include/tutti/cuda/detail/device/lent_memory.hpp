// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/driver.hpp>
#include <tutti/detail/shared_memory/datagram_doorbells.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::device {

/// Device memory that other processes have mapped. It must not be freed before they have unmapped it, and a rank that
/// leaves does not wait for that, as another rank may continue for any time. So the memory is set aside, and freed
/// when ranks of this process next meet or leave.
template <exports_memory D>
class lent_memory {
 public:
  using borrowers = std::shared_ptr<datagram_doorbells>;

  /// Returns `memory` with a deleter that sets it aside. `sockets` are connected to those of the ranks that may map it;
  /// this rank's own is ignored.
  [[nodiscard]] static std::shared_ptr<std::byte> lend(std::shared_ptr<std::byte> memory, borrowers sockets,
                                                       rank_type ranks, rank_type me) {
    std::byte* const p = memory.get();
    return {p, [entry = loan{std::move(memory), std::move(sockets), ranks, me}](std::byte*) mutable {
              std::lock_guard const hold(lock());
              entries().push_back(std::move(entry));
              erase_unmapped();
            }};
  }
  static void collect() {
    std::lock_guard const hold(lock());
    erase_unmapped();
  }
  /// The number of memories set aside.
  [[nodiscard]] static std::size_t count() {
    std::lock_guard const hold(lock());
    return entries().size();
  }

 private:
  struct loan {
    std::shared_ptr<std::byte> memory;
    borrowers sockets;
    rank_type ranks;
    rank_type me;

    [[nodiscard]] bool is_unmapped() const noexcept {
      for (rank_type r = 0; r != ranks; ++r) {
        if (r != me && sockets->reaches(r)) {
          return false;
        }
      }
      return true;
    }
  };

  static void erase_unmapped() {
    std::erase_if(entries(), [](loan const& entry) { return entry.is_unmapped(); });
  }
  [[nodiscard]] static std::mutex& lock() noexcept {
    static std::mutex m;
    return m;
  }
  /// Never destroyed: at the end of the process the device may be gone, so nothing can be freed.
  [[nodiscard]] static std::vector<loan>& entries() {
    static auto& list = *new std::vector<loan>;
    return list;
  }
};

}  // namespace tutti::detail::device
