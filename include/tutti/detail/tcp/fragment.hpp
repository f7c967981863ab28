// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/frame.hpp>

#include <bit>
#include <new>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

/// A piece, or the rest of one, of an unexpected message (MPI's term: no receive waited for it). Its bytes follow it.
struct alignas(64) fragment {
  frame head;
  fragment* next = nullptr;
  std::size_t capacity = 0;
  std::size_t size = 0;
  std::size_t filled_bytes = 0;    ///< bytes received
  std::size_t released_bytes = 0;  ///< bytes released by the reader

  [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

/// The unexpected messages of a lane: fragments in order of arrival. Owns nothing.
struct fragment_queue {
  fragment* first = nullptr;
  fragment* last = nullptr;

  void push(fragment& entry) noexcept {
    (last != nullptr ? last->next : first) = &entry;
    last = &entry;
  }
  fragment& pop() noexcept {
    fragment& entry = *first;
    first = entry.next;
    if (first == nullptr) {
      last = nullptr;
    }
    entry.next = nullptr;
    return entry;
  }
};

/// Recycles fragments, with one list for each power of two. Allocates nothing once warm.
class fragment_pool {
 public:
  fragment_pool() noexcept = default;
  fragment_pool(fragment_pool const&) = delete;
  fragment_pool& operator=(fragment_pool const&) = delete;
  ~fragment_pool() {
    for (fragment*& list : free_) {
      while (list != nullptr) {
        ::operator delete(std::exchange(list, list->next), std::align_val_t{alignof(fragment)});
      }
    }
  }

  [[nodiscard]] fragment& take(frame const& head, std::size_t bytes) {
    std::size_t const capacity = std::bit_ceil(bytes < smallest ? smallest : bytes);
    fragment*& list = free_[static_cast<std::size_t>(std::countr_zero(capacity))];
    void* memory = nullptr;
    if (list != nullptr) {
      memory = std::exchange(list, list->next);
    } else {
      memory = ::operator new(sizeof(fragment) + capacity, std::align_val_t{alignof(fragment)});
    }
    fragment& entry = *::new (memory) fragment;
    entry.head = head;
    entry.capacity = capacity;
    entry.size = bytes;
    return entry;
  }

  void recycle(fragment& entry) noexcept {
    fragment*& list = free_[static_cast<std::size_t>(std::countr_zero(entry.capacity))];
    entry.next = list;
    list = &entry;
  }
  void recycle(fragment_queue& queue) noexcept {
    while (queue.first != nullptr) {
      recycle(queue.pop());
    }
  }

 private:
  static constexpr std::size_t smallest = 64;
  fragment* free_[64] = {};
};

}  // namespace tutti::detail::tcp
