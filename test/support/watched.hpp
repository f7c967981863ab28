// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The sanitizers and compilers that read this program: a test may show each piece of code to them only once.
namespace support {

// g++ defines a macro for each sanitizer; clang has __has_feature.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TUTTI_TEST_WATCHES_THREADS 1
#endif
#if __has_feature(address_sanitizer)
#define TUTTI_TEST_WATCHES_ADDRESSES 1
#endif
#endif

#if defined(__SANITIZE_THREAD__) || defined(TUTTI_TEST_WATCHES_THREADS)
inline constexpr bool is_watched_by_thread_sanitizer = true;
#else
inline constexpr bool is_watched_by_thread_sanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(TUTTI_TEST_WATCHES_ADDRESSES)
inline constexpr bool is_watched_by_address_sanitizer = true;
#else
inline constexpr bool is_watched_by_address_sanitizer = false;
#endif

inline constexpr bool is_watched = is_watched_by_thread_sanitizer || is_watched_by_address_sanitizer;

/// The second compiler only reads the program, and does not build it.
#if defined(TUTTI_SECOND_COMPILER_READS)
inline constexpr bool is_read_by_second_compiler = true;
#else
inline constexpr bool is_read_by_second_compiler = false;
#endif

}  // namespace support
