// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owned.hpp>
#include <tutti/detail/tcp/frame.hpp>

#include <cstring>
#include <new>
#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// Where the bytes of a connection are read to: small enough to stay in the cache between the
/// system's copy and the reader. Readers are given pointers into it; what they hold is pinned, and
/// does not move until they let go: the buffer goes on in another block then.
///
/// Byte k of the stream lies at an address congruent to k modulo `frame_alignment`.
class receive_buffer {
 public:
  static constexpr std::size_t default_capacity = std::size_t{128} << 10;

  struct block {
    explicit block(std::size_t size)
        : capacity(size), memory(static_cast<std::byte*>(::operator new(size, alignment))) {}
    block(block const&) = delete;
    block& operator=(block const&) = delete;
    ~block() { ::operator delete(memory, alignment); }

    static constexpr std::align_val_t alignment{64};
    std::size_t pins = 0;
    std::size_t capacity;
    std::byte* memory;
  };

  [[nodiscard]] std::size_t size() const noexcept { return tail_ - head_; }
  [[nodiscard]] std::byte const* data() const noexcept { return current_->memory + head_; }
  void consume(std::size_t n) noexcept {
    head_ += n;
    offset_ += n;
  }
  /// The stream went on for `n` bytes that were read to elsewhere. Only when the buffer is empty.
  void skip(std::size_t n) noexcept { offset_ += n; }

  /// Puts back the last `n` bytes that were consumed or skipped. Only when the buffer is empty.
  void put_back(std::byte const* data, std::size_t n) {
    offset_ -= n;
    prepare(n);
    std::memcpy(end(), data, n);
    commit(n);
  }

  /// Protects what lies in the current block.
  [[nodiscard]] block* pin() noexcept {
    ++current_->pins;
    return current_;
  }
  static void unpin(block* b) noexcept { --b->pins; }

  /// Makes place for more: `least` bytes in one piece, counted from data(). @pre least > size()
  void prepare(std::size_t minimum) {
    std::size_t const start = offset_ % frame_alignment;
    bool const is_unpinned = current_ != nullptr && current_->pins == 0;
    if (current_ != nullptr && size() == 0) {  // bytes may have been skipped: go on where the stream is aligned
      head_ = tail_ =
          is_unpinned ? start : tail_ + (frame_alignment + start - tail_ % frame_alignment) % frame_alignment;
    }
    if (current_ != nullptr && head_ + minimum <= current_->capacity && tail_ != current_->capacity) {
      return;
    }
    if (is_unpinned && start + minimum <= current_->capacity) {
      std::size_t const used_bytes = size();
      std::memmove(current_->memory + start, data(), used_bytes);
      head_ = start;
      tail_ = start + used_bytes;
    } else {
      switch_block(start + minimum);
    }
  }
  [[nodiscard]] std::byte* end() noexcept { return current_->memory + tail_; }
  [[nodiscard]] std::size_t free_bytes() const noexcept { return current_->capacity - tail_; }
  void commit(std::size_t n) noexcept { tail_ += n; }

 private:
  /// Goes on in another block, which is not being read.
  void switch_block(std::size_t minimum) {
    block* next = nullptr;
    for (auto const& b : blocks_) {
      if (b.get() != current_ && b->pins == 0 && b->capacity >= minimum) {
        next = b.get();
        break;
      }
    }
    if (next == nullptr) {
      std::erase_if(blocks_,
                    [&](auto const& b) { return b.get() != current_ && b->pins == 0 && b->capacity < minimum; });
      blocks_.push_back(owned<block>(new block(minimum < default_capacity ? default_capacity : minimum)));
      next = blocks_.back().get();
    }
    std::size_t const start = offset_ % frame_alignment;
    std::size_t const used_bytes = size();
    if (used_bytes != 0) {
      std::memcpy(next->memory + start, data(), used_bytes);
    }
    current_ = next;
    head_ = start;
    tail_ = start + used_bytes;
  }

  std::vector<owned<block>> blocks_;
  block* current_ = nullptr;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  std::uint64_t offset_ = 0;  ///< of data() in the stream
};

}  // namespace tutti::detail::tcp
