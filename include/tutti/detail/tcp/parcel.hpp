// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/frame.hpp>

#include <bit>
#include <new>
#include <utility>

namespace tutti::detail::net {

/// A piece of a message, or the rest of one, that arrived before anybody waited for it. Its bytes follow it.
struct alignas(64) parcel {
  frame head;
  parcel* next = nullptr;
  std::size_t capacity = 0;
  std::size_t size = 0;
  std::size_t filled = 0;  ///< so much has arrived
  std::size_t taken = 0;   ///< so much has been released

  [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

/// Parcels in order of arrival. Owns nothing.
struct parcel_queue {
  parcel* first = nullptr;
  parcel* last = nullptr;

  void push(parcel& p) noexcept {
    (last != nullptr ? last->next : first) = &p;
    last = &p;
  }
  parcel& pop() noexcept {
    parcel& p = *first;
    first = p.next;
    if (first == nullptr) {
      last = nullptr;
    }
    p.next = nullptr;
    return p;
  }
};

/// Recycles parcels, one list for each power of two. After warming up it allocates nothing.
class parcel_pool {
 public:
  parcel_pool() noexcept = default;
  parcel_pool(parcel_pool const&) = delete;
  parcel_pool& operator=(parcel_pool const&) = delete;
  ~parcel_pool() {
    for (parcel*& list : free_) {
      while (list != nullptr) {
        ::operator delete(std::exchange(list, list->next), std::align_val_t{alignof(parcel)});
      }
    }
  }

  [[nodiscard]] parcel& take(frame const& head, std::size_t bytes) {
    std::size_t const capacity = std::bit_ceil(bytes < smallest ? smallest : bytes);
    parcel*& list = free_[static_cast<std::size_t>(std::countr_zero(capacity))];
    void* memory = nullptr;
    if (list != nullptr) {
      memory = std::exchange(list, list->next);
    } else {
      memory = ::operator new(sizeof(parcel) + capacity, std::align_val_t{alignof(parcel)});
    }
    parcel& p = *::new (memory) parcel;
    p.head = head;
    p.capacity = capacity;
    p.size = bytes;
    return p;
  }

  void give(parcel& p) noexcept {
    parcel*& list = free_[static_cast<std::size_t>(std::countr_zero(p.capacity))];
    p.next = list;
    list = &p;
  }
  void give(parcel_queue& all) noexcept {
    while (all.first != nullptr) {
      give(all.pop());
    }
  }

 private:
  static constexpr std::size_t smallest = 64;
  parcel* free_[64] = {};
};

}  // namespace tutti::detail::net
