// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/board.hpp>
#include <tutti/cuda/detail/device/driver.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace tutti::inline v0_1_0::detail::device {

/// The contents of each window of a world, in this order: mailboxes, counters, a stop word, scratch memory.
struct window_shape {
  rank_type ranks = 1;
  std::uint32_t groups = 1;
  std::size_t scratch_bytes = 0;  ///< bytes per group, a multiple of 512

  static constexpr std::size_t stop_bytes = 256;  ///< padding that keeps scratch memory aligned

  [[nodiscard]] constexpr std::size_t boxes_bytes() const noexcept {
    return whole(std::size_t{groups} * ranks * sizeof(mailbox));
  }
  [[nodiscard]] constexpr std::size_t counts_bytes() const noexcept { return whole(groups * sizeof(block_counts)); }
  [[nodiscard]] constexpr std::size_t bytes() const noexcept {
    return boxes_bytes() + counts_bytes() + stop_bytes + groups * scratch_bytes;
  }

 private:
  [[nodiscard]] static constexpr std::size_t whole(std::size_t bytes) noexcept { return (bytes + 255) / 256 * 256; }
};

/// The memory of one rank that other ranks' kernels access, as this rank reaches it. It lives as long as any rank
/// refers to it; the owner of the memory ensures that.
class window {
 public:
  window(window_shape const& shape, std::shared_ptr<std::byte> memory) : shape_(shape), memory_(std::move(memory)) {}

  [[nodiscard]] std::byte* base() const noexcept { return memory_.get(); }
  /// The mailboxes: for each group, one from each rank.
  [[nodiscard]] mailbox* boxes() const noexcept { return reinterpret_cast<mailbox*>(base()); }
  [[nodiscard]] block_counts* counts() const noexcept {
    return reinterpret_cast<block_counts*>(base() + shape_.boxes_bytes());
  }
  [[nodiscard]] std::uint64_t* stop() const noexcept {
    return reinterpret_cast<std::uint64_t*>(base() + shape_.boxes_bytes() + shape_.counts_bytes());
  }
  [[nodiscard]] std::byte* scratch() const noexcept {
    return base() + shape_.boxes_bytes() + shape_.counts_bytes() + window_shape::stop_bytes;
  }

 private:
  window_shape shape_;
  std::shared_ptr<std::byte> memory_;
};

/// Words in host memory that a rank's own kernels write.
struct alignas(64) host_words {
  std::uint64_t fault;
  std::uint64_t failed_operation;
  std::uint64_t progress;
};
template <driver D>
[[nodiscard]] std::shared_ptr<host_words> make_host_words(D const& driver) {
  return {reinterpret_cast<host_words*>(driver.allocate_for_all(sizeof(host_words))),
          [](host_words* p) { D::free_for_all(reinterpret_cast<std::byte*>(p)); }};
}

}  // namespace tutti::detail::device
