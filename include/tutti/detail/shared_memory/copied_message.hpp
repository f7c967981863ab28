// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// The chunks to which the last message of a flow was copied. A message with the same bytes for another peer reuses
/// them.
class copied_message {
 public:
  struct part {
    std::size_t offset = 0;  ///< in the message
    std::size_t bytes = 0;
    std::byte const* chunk = nullptr;
    std::uint64_t issue = 0;  ///< number in the ring of chunks
  };

  /// Begins a message, with the bytes of the last one or not.
  void begin(bool repeats_last) noexcept {
    count_ = repeats_last ? count_ : 0;
    next_ = 0;
    offset_ = 0;
  }

  /// The copy of the next bytes of the message, or null.
  [[nodiscard]] part const* next() noexcept {
    while (next_ != count_ && parts_[next_].offset < offset_) {
      ++next_;
    }
    return next_ != count_ && parts_[next_].offset == offset_ ? &parts_[next_] : nullptr;
  }

  /// Records a copy of the next bytes. Long messages are recorded in part.
  void record_copy(std::byte const* chunk, std::size_t bytes, std::uint64_t issue) noexcept {
    if (next() == nullptr) {
      if (next_ != count_ || count_ == max_parts) {
        return;
      }
      ++count_;
    }
    parts_[next_] = {offset_, bytes, chunk, issue};
  }

  /// Counts bytes as sent.
  void advance(std::size_t bytes) noexcept { offset_ += bytes; }

 private:
  static constexpr std::uint32_t max_parts = 32;

  std::size_t offset_ = 0;   ///< bytes of the message that were sent
  std::uint32_t next_ = 0;   ///< the first part not sent yet
  std::uint32_t count_ = 0;  ///< known parts, in order
  part parts_[max_parts];
};

}  // namespace tutti::detail::shared_memory
