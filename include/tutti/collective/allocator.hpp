// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/core/heap_memory.hpp>

namespace tutti::inline v0_1_0 {

/// Allocates memory that suits a communicator: with `shared_memory`, in the segment, where peers read it without a
/// copy; with `verbs`, memory that is registered once; with other transports, from the heap. Aligned to 64 bytes.
///
///     std::vector<float, tutti::allocator<float>> gradients(n, tutti::allocator<float>(world));
///
/// If tutti::automatic picks schedules for such memory, call its for_memory(tutti::memory_kind::allocator). The memory
/// may outlive the communicator. In communicators split from it, peers read the memory without a copy, too.
///
/// @throws std::bad_alloc from `allocate`; with shared memory its text says what to enlarge
///
/// Cost: in shared memory a search of this rank's free list; on the heap an aligned operator new.
/// Thread safety: as std::allocator.
template <class T>
class allocator {
 public:
  /// The element type.
  using value_type = T;
  /// True: assigning a container also assigns its source of memory.
  using propagate_on_container_copy_assignment = std::true_type;
  /// True: moving a container moves its source of memory along.
  using propagate_on_container_move_assignment = std::true_type;
  /// True: swapping containers swaps their sources of memory.
  using propagate_on_container_swap = std::true_type;
  /// False: memory must return to its own source.
  using is_always_equal = std::false_type;

  /// Allocates where ranks of this communicator read memory without a copy, if its transport has such memory, else on
  /// the heap.
  template <transport Transport, rank_type N, class Trace>
  explicit allocator(communicator<Transport, N, Trace>& world) {
    if constexpr (provides_memory<Transport>) {
      source_ = world.transport().memory();
    } else {
      source_ = detail::heap_memory::source();
    }
  }
  /// Constructs an allocator of another type that shares the source.
  template <class U>
  allocator(allocator<U> const& other) noexcept : source_(other.source()) {}

  /// Allocates n elements, aligned to a cache line.
  /// @throws std::bad_alloc
  [[nodiscard]] T* allocate(std::size_t n) {
    if (n > SIZE_MAX / sizeof(T)) {
      throw std::bad_array_new_length();
    }
    return static_cast<T*>(source_->take(n * sizeof(T)));
  }
  /// Frees memory from `allocate`; any thread may call it.
  void deallocate(T* p, std::size_t n) noexcept { source_->give(p, n * sizeof(T)); }

  /// The source of the memory. It exists as long as any of its buffers or allocators.
  [[nodiscard]] intrusive_pointer<memory_source> const& source() const noexcept { return source_; }

  template <class U>
  friend bool operator==(allocator const& a, allocator<U> const& b) noexcept {
    return a.source() == b.source();
  }

 private:
  static_assert(alignof(T) <= memory_source::alignment);

  intrusive_pointer<memory_source> source_;
};

}  // namespace tutti
