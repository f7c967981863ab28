// SPDX-License-Identifier: Apache-2.0
// test: address thread full_speed
#include <tutti/detail/shared_memory/streaming_copy.hpp>
#include <tutti/extend/time.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t line = 64;

struct alignas(line) memory {
  std::byte bytes[8192];
};

[[nodiscard]] std::byte value(std::size_t i) {
  return static_cast<std::byte>(i * 7 + i / 251);
}

/// Copies exactly the bytes given, for all lengths and alignments.
BOOST_AUTO_TEST_CASE(copies_as_memcpy_does) {
  std::vector<std::byte> source(1024);
  for (std::size_t i = 0; i < source.size(); ++i) {
    source[i] = value(i);
  }
  std::size_t wrong = 0;
  for (std::size_t n = 0; n <= 5 * line; ++n) {
    for (std::size_t at = 0; at < line; ++at) {
      memory target;
      std::memset(target.bytes, 0xee, 6 * line);
      tutti::detail::streaming_copy(target.bytes, source.data() + at, n);
      for (std::size_t i = 0; i < 6 * line; ++i) {
        wrong += target.bytes[i] != (i < n ? source[at + i] : std::byte{0xee});
      }
    }
  }
  BOOST_TEST(wrong == 0U);
}

/// A release store publishes the copy, although nothing else orders stores past the caches.
BOOST_AUTO_TEST_CASE(is_published_by_a_release_store) {
  constexpr std::uint64_t turns = 20'000;
  constexpr std::uint64_t last_turn = ~std::uint64_t{0};
  tutti::time_point const end = tutti::steady_now() + std::chrono::seconds(10);  // beside other programs a turn is slow
  static memory copy;
  std::atomic<std::uint64_t> last_written{0};
  std::atomic<std::uint64_t> last_read{0};
  std::uint64_t stale = 0;
  std::thread reader([&] {
    for (std::uint64_t turn = 1;; ++turn) {
      std::uint64_t newest = 0;
      while ((newest = last_written.load(std::memory_order_acquire)) < turn) {
        std::this_thread::yield();
      }
      if (newest == last_turn) {
        return;
      }
      // The last lines first: they would arrive last.
      for (std::size_t i = sizeof(memory); i != 0; i -= sizeof turn) {
        std::uint64_t word = 0;
        std::memcpy(&word, copy.bytes + i - sizeof word, sizeof word);
        stale += word != turn;
      }
      last_read.store(turn, std::memory_order_release);
    }
  });
  std::vector<std::uint64_t> source(sizeof(memory) / sizeof(std::uint64_t));
  for (std::uint64_t turn = 1; turn <= turns && tutti::steady_now() < end; ++turn) {
    source.assign(source.size(), turn);
    tutti::detail::streaming_copy(copy.bytes, reinterpret_cast<std::byte const*>(source.data()), sizeof(memory));
    last_written.store(turn, std::memory_order_release);
    while (last_read.load(std::memory_order_acquire) != turn) {
      std::this_thread::yield();
    }
  }
  last_written.store(last_turn, std::memory_order_release);
  reader.join();
  BOOST_TEST(stale == 0U);
}

}  // namespace
