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
  static constexpr std::size_t usual = std::size_t{128} << 10;

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
  [[nodiscard]] std::byte const* data() const noexcept { return at_->memory + head_; }
  void consume(std::size_t n) noexcept {
    head_ += n;
    offset_ += n;
  }
  /// The stream went on for `n` bytes that were read to elsewhere. Only when the buffer is empty.
  void skip(std::size_t n) noexcept { offset_ += n; }

  /// Puts back the last `n` bytes that were consumed or skipped. Only when the buffer is empty.
  void put_back(std::byte const* from, std::size_t n) {
    offset_ -= n;
    prepare(n);
    std::memcpy(end(), from, n);
    grow(n);
  }

  /// Protects what lies in the current block.
  [[nodiscard]] block* pin() noexcept {
    ++at_->pins;
    return at_;
  }
  static void unpin(block* b) noexcept { --b->pins; }

  /// Makes place for more: `least` bytes in one piece, counted from data(). @pre least > size()
  void prepare(std::size_t least) {
    std::size_t const start = offset_ % frame_alignment;
    bool const unpinned = at_ != nullptr && at_->pins == 0;
    if (at_ != nullptr && size() == 0) {  // bytes may have been skipped: go on where the stream is aligned
      head_ = tail_ = unpinned ? start : tail_ + (frame_alignment + start - tail_ % frame_alignment) % frame_alignment;
    }
    if (at_ != nullptr && head_ + least <= at_->capacity && tail_ != at_->capacity) {
      return;
    }
    if (unpinned && start + least <= at_->capacity) {
      std::size_t const kept = size();
      std::memmove(at_->memory + start, data(), kept);
      head_ = start;
      tail_ = start + kept;
    } else {
      change(start + least);
    }
  }
  [[nodiscard]] std::byte* end() noexcept { return at_->memory + tail_; }
  [[nodiscard]] std::size_t room() const noexcept { return at_->capacity - tail_; }
  void grow(std::size_t n) noexcept { tail_ += n; }

 private:
  /// Goes on in another block, which is not being read.
  void change(std::size_t least) {
    block* next = nullptr;
    for (auto const& b : blocks_) {
      if (b.get() != at_ && b->pins == 0 && b->capacity >= least) {
        next = b.get();
        break;
      }
    }
    if (next == nullptr) {
      std::erase_if(blocks_, [&](auto const& b) { return b.get() != at_ && b->pins == 0 && b->capacity < least; });
      blocks_.push_back(owned<block>(new block(least < usual ? usual : least)));
      next = blocks_.back().get();
    }
    std::size_t const start = offset_ % frame_alignment;
    std::size_t const kept = size();
    if (kept != 0) {
      std::memcpy(next->memory + start, data(), kept);
    }
    at_ = next;
    head_ = start;
    tail_ = start + kept;
  }

  std::vector<owned<block>> blocks_;
  block* at_ = nullptr;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  std::uint64_t offset_ = 0;  ///< of data() in the stream
};

}  // namespace tutti::detail::tcp
