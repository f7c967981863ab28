// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Where the chunks lie that the last message of a flow was copied to. If the next one holds the same bytes
/// for another peer, they need not be copied again.
class copied_message {
 public:
  struct part {
    std::size_t offset = 0;  ///< in the message
    std::size_t bytes = 0;
    std::byte const* place = nullptr;
    std::uint64_t issue = 0;  ///< by which the ring of chunks knows it
  };

  /// A message begins, which holds the same as the last one or not.
  void begin(bool repeats_last) noexcept {
    count_ = repeats_last ? count_ : 0;
    next_ = 0;
    offset_ = 0;
  }

  /// The copy of what comes next in the message, or null.
  [[nodiscard]] part const* next() noexcept {
    while (next_ != count_ && parts_[next_].offset < offset_) {
      ++next_;
    }
    return next_ != count_ && parts_[next_].offset == offset_ ? &parts_[next_] : nullptr;
  }

  /// What comes next has been copied. Long messages are forgotten in part.
  void record_copy(std::byte const* place, std::size_t bytes, std::uint64_t issue) noexcept {
    if (next() == nullptr) {
      if (next_ != count_ || count_ == max_parts) {
        return;
      }
      ++count_;
    }
    parts_[next_] = {offset_, bytes, place, issue};
  }

  /// This many bytes have been sent, in whatever way.
  void advance(std::size_t bytes) noexcept { offset_ += bytes; }

 private:
  static constexpr std::uint32_t max_parts = 32;

  std::size_t offset_ = 0;   ///< how much of the message has been sent
  std::uint32_t next_ = 0;   ///< parts before this one have been sent
  std::uint32_t count_ = 0;  ///< how many parts are known, in order
  part parts_[max_parts];
};

}  // namespace tutti::detail::shared_memory
