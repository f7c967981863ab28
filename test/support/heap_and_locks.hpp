// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

/// Counts a thread's memory allocations and locks. A program that includes this replaces malloc and the locking
/// functions of the C library, which operator new, std::vector and std::mutex call. Include in one file of a program
/// only; glibc only.
namespace support {

struct heap_and_locks {
  std::uint64_t allocations = 0;
  std::uint64_t locks = 0;

  friend heap_and_locks operator-(heap_and_locks a, heap_and_locks b) noexcept {
    return {a.allocations - b.allocations, a.locks - b.locks};
  }
};

/// The counts of this thread since it began.
inline thread_local constinit heap_and_locks thread_counts{};

/// The C library's function of this name.
template <class F>
[[nodiscard]] F* next_function(char const* name) noexcept {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace support

extern "C" {

// NOLINTBEGIN: these names are the C library's
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  ++support::thread_counts.allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) {
  ++support::thread_counts.allocations;
  return __libc_calloc(n, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  ++support::thread_counts.allocations;
  return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  ++support::thread_counts.allocations;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result == nullptr ? ENOMEM : 0;
}

int pthread_mutex_lock(pthread_mutex_t* m) {
  static auto* const next = support::next_function<int(pthread_mutex_t*)>("pthread_mutex_lock");
  ++support::thread_counts.locks;
  return next(m);
}
int pthread_mutex_trylock(pthread_mutex_t* m) {
  static auto* const next = support::next_function<int(pthread_mutex_t*)>("pthread_mutex_trylock");
  ++support::thread_counts.locks;
  return next(m);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* l) {
  static auto* const next = support::next_function<int(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  ++support::thread_counts.locks;
  return next(l);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* l) {
  static auto* const next = support::next_function<int(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  ++support::thread_counts.locks;
  return next(l);
}
// NOLINTEND
}
