// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

/// Counts calls of `operator new`. Works with sanitizers, which replace malloc (support/heap_and_locks.hpp counts
/// malloc). Include in one file of a program only.
namespace support {

inline std::atomic<long> allocations = 0;                           // calls of all threads
inline thread_local constinit long allocations_of_this_thread = 0;  // calls of one thread

}  // namespace support

[[gnu::noinline]] void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
  ++support::allocations;
  ++support::allocations_of_this_thread;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* const memory = operator new(size, std::nothrow)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
