// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <tutti/detail/shared_memory/streaming_copy.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdint>
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

/// Whatever its length, and wherever it comes from: what is copied, and nothing else.
BOOST_AUTO_TEST_CASE(copies_as_memcpy_does) {
  std::vector<std::byte> from(1024);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = value(i);
  }
  std::size_t wrong = 0;
  for (std::size_t n = 0; n <= 5 * line; ++n) {
    for (std::size_t at = 0; at < line; ++at) {
      memory to;
      std::memset(to.bytes, 0xee, 6 * line);
      tutti::detail::streaming_copy(to.bytes, from.data() + at, n);
      for (std::size_t i = 0; i < 6 * line; ++i) {
        wrong += to.bytes[i] != (i < n ? from[at + i] : std::byte{0xee});
      }
    }
  }
  BOOST_TEST(wrong == 0U);
}

/// A release store afterwards publishes all of it, although stores past the caches are ordered by nothing else.
BOOST_AUTO_TEST_CASE(is_published_by_a_release_store) {
  constexpr std::uint64_t turns = 20'000;
  static memory shared;
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> read{0};
  std::uint64_t stale = 0;
  std::thread reader([&] {
    for (std::uint64_t turn = 1; turn <= turns; ++turn) {
      while (written.load(std::memory_order_acquire) != turn) {
        std::this_thread::yield();
      }
      // The last lines first: they are what would still be on its way.
      for (std::size_t i = sizeof(memory); i != 0; i -= sizeof turn) {
        std::uint64_t word = 0;
        std::memcpy(&word, shared.bytes + i - sizeof word, sizeof word);
        stale += word != turn;
      }
      read.store(turn, std::memory_order_release);
    }
  });
  std::vector<std::uint64_t> from(sizeof(memory) / sizeof(std::uint64_t));
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    from.assign(from.size(), turn);
    tutti::detail::streaming_copy(shared.bytes, reinterpret_cast<std::byte const*>(from.data()), sizeof(memory));
    written.store(turn, std::memory_order_release);
    while (read.load(std::memory_order_acquire) != turn) {
      std::this_thread::yield();
    }
  }
  reader.join();
  BOOST_TEST(stale == 0U);
}

}  // namespace
