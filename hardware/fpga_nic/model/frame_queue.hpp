// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

/// A queue of frames in storage that is reused.
class frame_queue {
 public:
  frame_queue() : items_(1024) {}

  /// bytes for a frame; more than `frame::max_size`, to try frames that are too long
  static constexpr std::size_t room = 2048;

  struct item {
    std::size_t size = 0;
    bool bad = false;  ///< marked by the receiving station
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
  /// Removes the first bytes of the first frame. @pre not empty(), and the frame is longer
  void remove_front(std::size_t bytes) noexcept {
    item& i = items_[begin_];
    std::copy(i.bytes.begin() + static_cast<std::ptrdiff_t>(bytes), i.bytes.end(), i.bytes.begin());
    i.size -= bytes;
  }
  /// Appends a frame and returns it.
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
