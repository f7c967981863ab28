// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/tcp/frame.hpp>

#include <cstring>
#include <new>
#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// The buffer between a socket and the readers, small enough to stay in the cache between the system's copy and the
/// reader's. Readers get pointers into it. A block with readers is pinned: it does not move, and reading continues in
/// another block.
///
/// Byte k of the stream is at an address congruent to k modulo `frame_alignment`.
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
  /// Skips `n` bytes of the stream that were read to another place. @pre the buffer is empty
  void skip(std::size_t n) noexcept { offset_ += n; }

  /// Puts back the last `n` bytes that were consumed or skipped. @pre the buffer is empty
  void put_back(std::byte const* data, std::size_t n) {
    offset_ -= n;
    prepare(n);
    std::memcpy(end(), data, n);
    commit(n);
  }

  /// Pins the current block.
  [[nodiscard]] block* pin() noexcept {
    ++current_->pins;
    return current_;
  }
  static void unpin(block* b) noexcept { --b->pins; }

  /// Makes room for at least `minimum` contiguous bytes, counted from data(). @pre minimum > size()
  void prepare(std::size_t minimum) {
    std::size_t const start = offset_ % frame_alignment;
    bool const is_unpinned = current_ != nullptr && current_->pins == 0;
    if (current_ != nullptr && size() == 0) {  // bytes may have been skipped: restore the alignment
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
  /// Continues in another block, without readers.
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
      blocks_.push_back(owner<block>(new block(minimum < default_capacity ? default_capacity : minimum)));
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

  std::vector<owner<block>> blocks_;
  block* current_ = nullptr;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  std::uint64_t offset_ = 0;  ///< position of data() in the stream
};

}  // namespace tutti::detail::tcp
