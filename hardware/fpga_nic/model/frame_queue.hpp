// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

/// Frames in a row. Room that was taken once is kept; there is some from the start.
class frame_queue {
 public:
  frame_queue() : items_(1024) {}

  static constexpr std::size_t room = 2048;  ///< of a frame; more than `frame::most`, to try frames that are too long

  struct item {
    std::size_t size = 0;
    bool bad = false;  ///< the station that received it says so
    std::array<std::byte, room> bytes;

    [[nodiscard]] std::span<std::byte const> content() const noexcept { return std::span(bytes).first(size); }
  };

  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  /// @pre not empty()
  [[nodiscard]] item const& front() const noexcept { return items_[begin_]; }
  void pop() noexcept {
    if (++begin_ == end_) {
      begin_ = end_ = 0;
    }
  }
  /// The first one, without its first bytes. @pre not empty(), and it is longer
  void cut(std::size_t bytes) noexcept {
    item& i = items_[begin_];
    std::copy(i.bytes.begin() + static_cast<std::ptrdiff_t>(bytes), i.bytes.end(), i.bytes.begin());
    i.size -= bytes;
  }
  /// Room for one more, which is there from now on.
  [[nodiscard]] item& push() {
    if (end_ == items_.size()) {
      items_.emplace_back();
    }
    item& i = items_[end_++];
    i.size = 0;
    i.bad = false;
    return i;
  }

 private:
  std::vector<item> items_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};
