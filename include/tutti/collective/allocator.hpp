// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/core/heap_memory.hpp>

namespace tutti::inline v0_1_0 {

/// Takes memory that suits a communicator: for `shared_memory` out of the segment, where peers read it without a copy;
/// for `verbs` memory that the device is told of once; for other transports from the heap. Aligned to 64 bytes.
///
///     std::vector<float, tutti::allocator<float>> gradients(n, tutti::allocator<float>(world));
///
/// Tell tutti::automatic, if it picks schedules for such memory: for_memory(tutti::memory_kind::provided).
/// The memory may outlive the communicator. In what is split from it peers read it without a copy, too.
///
/// @throws std::bad_alloc from `allocate`; for shared memory one that says what to enlarge
///
/// Cost: of shared memory a search of its free list, by this rank alone; of the heap an aligned operator new.
/// Thread safety: as std::allocator.
template <class T>
class allocator {
 public:
  /// The type of the elements of a buffer.
  using value_type = T;
  /// True: a container that is assigned takes over the source of memory.
  using propagate_on_container_copy_assignment = std::true_type;
  /// True: a container that is moved takes its source of memory along.
  using propagate_on_container_move_assignment = std::true_type;
  /// True: containers that are swapped swap their sources of memory.
  using propagate_on_container_swap = std::true_type;
  /// False: memory goes back to the source that it came from.
  using is_always_equal = std::false_type;

  /// Takes memory from where ranks of this communicator read it without a copy, if its transport has such, else from
  /// the heap.
  template <transport Transport, rank_type N, class Trace>
  explicit allocator(communicator<Transport, N, Trace>& world) {
    if constexpr (provides_memory<Transport>) {
      source_ = world.transport().memory();
    } else {
      source_ = detail::heap_memory::source();
    }
  }
  /// Makes an allocator of another type that shares the source.
  template <class U>
  allocator(allocator<U> const& other) noexcept : source_(other.source()) {}

  /// Room for n elements, aligned to a cache line.
  /// @throws std::bad_alloc
  [[nodiscard]] T* allocate(std::size_t n) {
    if (n > SIZE_MAX / sizeof(T)) {
      throw std::bad_array_new_length();
    }
    return static_cast<T*>(source_->take(n * sizeof(T)));
  }
  /// Gives back what `allocate` gave; by any thread.
  void deallocate(T* p, std::size_t n) noexcept { source_->give(p, n * sizeof(T)); }

  /// The source of the memory. It lives for as long as a buffer or an allocator of it.
  [[nodiscard]] counted<memory_source> const& source() const noexcept { return source_; }

  template <class U>
  friend bool operator==(allocator const& a, allocator<U> const& b) noexcept {
    return a.source() == b.source();
  }

 private:
  static_assert(alignof(T) <= memory_source::alignment);

  counted<memory_source> source_;
};

}  // namespace tutti
