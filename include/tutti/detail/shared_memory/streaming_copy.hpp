// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <cstring>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

#if defined(__x86_64__)

/// True if this processor has stores that bypass its caches.
inline constexpr bool can_stream = true;

/// Copies past the caches: lines in other caches are dropped, not fetched, and are read from memory next. A release
/// store publishes the copy like an ordinary one.
/// @pre `target` is aligned to a cache line
inline void streaming_copy(std::byte* target, std::byte const* source, std::size_t bytes) noexcept {
  using vector [[gnu::vector_size(16), gnu::may_alias]] = float;  // every x86-64 has it
  using unaligned [[gnu::vector_size(16), gnu::may_alias, gnu::aligned(1)]] = float;
  constexpr std::size_t line = 64;
  std::size_t const whole = bytes - bytes % line;
  for (std::size_t i = 0; i < whole; i += line) {
    for (std::size_t part = i; part < i + line; part += sizeof(vector)) {
      vector const v = *reinterpret_cast<unaligned const*>(source + part);
      asm volatile("movntps %1, %0" : "=m"(*reinterpret_cast<vector*>(target + part)) : "x"(v));
    }
  }
  std::memcpy(target + whole, source + whole, bytes - whole);
  asm volatile("sfence" ::: "memory");  // nothing else orders such stores
}

#else

inline constexpr bool can_stream = false;

inline void streaming_copy(std::byte* target, std::byte const* source, std::size_t bytes) noexcept {
  std::memcpy(target, source, bytes);
}

#endif

}  // namespace tutti::detail::shared_memory
