// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <new>
#include <sys/mman.h>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline core {

/// An allocator of whole pages that read as zeros and take no memory until they are written: for large tables that are
/// sparsely used. Value-initialised elements are not written. @pre such an element is all zeros
template <class T>
struct untouched_memory {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 4096);
  using value_type = T;

  untouched_memory() noexcept = default;
  template <class U>
  untouched_memory(untouched_memory<U> const&) noexcept {}

  /// @throws std::bad_alloc
  [[nodiscard]] T* allocate(std::size_t n) const {
    void* const p = ::mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
      throw std::bad_alloc();
    }
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t n) const noexcept { ::munmap(p, n * sizeof(T)); }

  template <class U>
  void construct(U*) const noexcept {}
  template <class U, class... Args>
  void construct(U* p, Args&&... args) const {
    ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }

  friend bool operator==(untouched_memory, untouched_memory) noexcept { return true; }
};

}  // namespace tutti::detail::core
