// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <atomic>
#include <cstdint>
#include <new>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// The ranges of a shared file that each rank has opened for buffers, at the beginning of the file. An entry is written
/// once, before any rank learns of a location there.
class window_table {
 public:
  /// The most ranges that a rank may open.
  static constexpr std::uint32_t max_windows = 64;

  struct entry {
    std::atomic<std::uint64_t> begin{0};  ///< in the file
    std::atomic<std::size_t> bytes{0};
  };

  window_table() noexcept = default;
  window_table(std::byte* base, rank_type ranks) noexcept : base_(base), ranks_(ranks) {}

  [[nodiscard]] static constexpr std::size_t bytes(rank_type ranks) noexcept {
    return head + std::size_t{ranks} * max_windows * sizeof(entry);
  }
  /// Constructs the table; called by the rank that made the file. Windows begin after `used_bytes`.
  void construct(std::uint64_t used_bytes) noexcept {
    new (base_) std::atomic<std::uint64_t>(used_bytes);
    for (std::size_t i = 0; i < std::size_t{ranks_} * max_windows; ++i) {
      new (base_ + head + i * sizeof(entry)) entry;
    }
  }

  [[nodiscard]] rank_type ranks() const noexcept { return ranks_; }
  [[nodiscard]] entry& at(rank_type r, std::uint32_t i) const noexcept {
    return *std::launder(reinterpret_cast<entry*>(base_ + head + (std::size_t{r} * max_windows + i) * sizeof(entry)));
  }
  /// Reserves a range of the file.
  [[nodiscard]] std::uint64_t reserve(std::size_t bytes) const noexcept {
    return std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(base_))
        ->fetch_add(bytes, std::memory_order_relaxed);
  }
  /// Returns a range that could not be opened, unless another was reserved after it.
  void unreserve(std::uint64_t begin, std::size_t bytes) const noexcept {
    std::uint64_t end = begin + bytes;
    std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(base_))
        ->compare_exchange_strong(end, begin, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t head = 64;

  std::byte* base_ = nullptr;
  rank_type ranks_ = 0;
};

}  // namespace tutti::detail::shared_memory
