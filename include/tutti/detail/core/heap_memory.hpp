// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/memory_source.hpp>

#include <sys/mman.h>

namespace tutti::inline v0_1_0::detail::inline core {

/// The heap as a memory_source. Large buffers ask the system for huge pages.
class heap_memory : public memory_source {
 public:
  static intrusive_pointer<memory_source> source() {
    static heap_memory heap;
    heap.add_reference();  // the static object is never released
    return intrusive_pointer<memory_source>(&heap);
  }

 private:
  static constexpr std::size_t huge_page = std::size_t{2} << 20;

  heap_memory() noexcept
      : memory_source([](memory_source&, std::size_t n) { return allocate(n); },
                      [](memory_source&, void* p, std::size_t n) noexcept { ::operator delete(p, aligned_for(n)); },
                      [](memory_source&) noexcept {},
                      [](memory_source&, void const*) { return std::span<std::byte const>(); }) {}

  static std::align_val_t aligned_for(std::size_t bytes) noexcept {
    return std::align_val_t{bytes < 2 * huge_page ? alignment : huge_page};
  }
  static void* allocate(std::size_t bytes) {
    void* const memory = ::operator new(bytes, aligned_for(bytes));
    if (bytes >= 2 * huge_page) {
      ::madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
    }
    return memory;
  }
};

}  // namespace tutti::detail::core
