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

  /// Returns `memory` with a deleter that sets it aside. The sockets `to` are connected to those of the ranks that may
  /// map it; this rank's own is ignored.
  [[nodiscard]] static std::shared_ptr<std::byte> lend(std::shared_ptr<std::byte> memory, borrowers to, rank_type ranks,
                                                       rank_type me) {
    std::byte* const p = memory.get();
    return {p, [one = lent{std::move(memory), std::move(to), ranks, me}](std::byte*) mutable {
              std::lock_guard const hold(lock());
              aside().push_back(std::move(one));
              free_returned();
            }};
  }
  static void free_what_is_back() {
    std::lock_guard const hold(lock());
    free_returned();
  }
  /// The number of memories set aside.
  [[nodiscard]] static std::size_t count() {
    std::lock_guard const hold(lock());
    return aside().size();
  }

 private:
  struct lent {
    std::shared_ptr<std::byte> memory;
    borrowers to;
    rank_type ranks;
    rank_type me;

    [[nodiscard]] bool is_back() const noexcept {
      for (rank_type r = 0; r != ranks; ++r) {
        if (r != me && to->reaches(r)) {
          return false;
        }
      }
      return true;
    }
  };

  static void free_returned() {
    std::erase_if(aside(), [](lent const& one) { return one.is_back(); });
  }
  [[nodiscard]] static std::mutex& lock() noexcept {
    static std::mutex m;
    return m;
  }
  /// Never destroyed: at the end of the process the device may be gone, so nothing can be freed.
  [[nodiscard]] static std::vector<lent>& aside() {
    static auto& all = *new std::vector<lent>;
    return all;
  }
};

}  // namespace tutti::detail::device
