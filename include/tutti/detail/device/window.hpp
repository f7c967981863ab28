// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/device/board.hpp>
#include <tutti/detail/device/driver.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::detail::device {

/// The memory of one rank that other ranks' kernels work in, and its words in the host's memory. It is freed when no
/// rank knows it any more.
template <driver D>
class window {
 public:
  /// Words of the host, for the rank's own kernels.
  struct alignas(64) words {
    std::uint64_t fault;
    std::uint64_t failed;
    std::uint64_t progress;
  };

  /// @param scratch_bytes of each group, a multiple of 512
  window(D const& on, rank_type ranks, std::uint32_t groups, std::size_t scratch_bytes)
      : ranks_(ranks),
        groups_(groups),
        scratch_bytes_(scratch_bytes),
        host_(reinterpret_cast<words*>(on.allocate_for_all(sizeof(words)))) {
    try {
      memory_ = on.allocate(boxes_bytes() + counts_bytes() + stop_bytes + groups * scratch_bytes);
    } catch (...) {
      D::free_for_all(reinterpret_cast<std::byte*>(host_));
      throw;
    }
  }
  window(window const&) = delete;
  window& operator=(window const&) = delete;
  ~window() {
    D::free(memory_);
    D::free_for_all(reinterpret_cast<std::byte*>(host_));
  }

  [[nodiscard]] words& host() const noexcept { return *host_; }
  [[nodiscard]] std::uint32_t groups() const noexcept { return groups_; }
  /// For each group, a mailbox of each rank.
  [[nodiscard]] mailbox* boxes() const noexcept { return reinterpret_cast<mailbox*>(memory_); }
  [[nodiscard]] block_counts* counts() const noexcept {
    return reinterpret_cast<block_counts*>(memory_ + boxes_bytes());
  }
  [[nodiscard]] std::uint64_t* stop() const noexcept {
    return reinterpret_cast<std::uint64_t*>(memory_ + boxes_bytes() + counts_bytes());
  }
  [[nodiscard]] std::byte* scratch() const noexcept { return memory_ + boxes_bytes() + counts_bytes() + stop_bytes; }
  [[nodiscard]] std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }

 private:
  static constexpr std::size_t stop_bytes = 256;  ///< of its own lines, so that what follows is aligned

  [[nodiscard]] static constexpr std::size_t whole(std::size_t bytes) noexcept { return (bytes + 255) / 256 * 256; }
  [[nodiscard]] std::size_t boxes_bytes() const noexcept {
    return whole(std::size_t{groups_} * ranks_ * sizeof(mailbox));
  }
  [[nodiscard]] std::size_t counts_bytes() const noexcept { return whole(groups_ * sizeof(block_counts)); }

  rank_type ranks_;
  std::uint32_t groups_;
  std::size_t scratch_bytes_;
  words* host_;
  std::byte* memory_ = nullptr;
};

}  // namespace tutti::detail::device
