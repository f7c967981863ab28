// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE transport_shared_arena
#include <tutti/transport/shared_arena.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <map>
#include <random>

namespace {

template <class File = tutti::shared_file>
auto make(std::size_t begin, std::size_t bytes) {
  auto arena = tutti::basic_shared_arena<File>::create();
  arena->file.create(begin + bytes, begin);
  arena->place(begin, bytes);
  return arena;
}

/// Whatever is taken and given back in whatever order: buffers are aligned, apart, inside, and keep what
/// was written to them; and when all are given back, the arena is whole again.
BOOST_AUTO_TEST_CASE(buffers_never_overlap) {
  constexpr std::size_t begin = 4096;
  constexpr std::size_t bytes = 1 << 20;
  for (unsigned seed = 0; seed < 4; ++seed) {
    auto const arena = make(begin, bytes);
    std::minstd_rand random(seed + 1);
    std::map<unsigned char*, std::size_t> live;
    std::size_t refused = 0;
    for (int i = 0; i < 3000; ++i) {
      if (random() % 2 == 0 && !live.empty()) {
        auto it = live.begin();
        std::advance(it, static_cast<long>(random() % live.size()));
        auto const tag = static_cast<unsigned char>(it->second * 31);
        for (std::size_t k = 0; k < it->second; ++k) {
          BOOST_REQUIRE(it->first[k] == tag);
        }
        arena->give(it->first, it->second);
        live.erase(it);
      } else {
        std::size_t const n = random() % (random() % 8 == 0 ? 100'000 : 500);
        try {
          auto* const p = static_cast<unsigned char*>(arena->take(n));
          auto* const base = reinterpret_cast<unsigned char*>(arena->file.base());
          BOOST_REQUIRE(reinterpret_cast<std::uintptr_t>(p) % 64 == 0);
          BOOST_REQUIRE((p >= base + begin && p + n <= base + begin + bytes));
          auto const next = live.lower_bound(p);
          BOOST_REQUIRE((next == live.end() || p + n <= next->first));
          BOOST_REQUIRE((next == live.begin() || std::prev(next)->first + std::prev(next)->second <= p));
          BOOST_REQUIRE(!live.contains(p));
          std::memset(p, static_cast<unsigned char>(n * 31), n);
          live[p] = n;
        } catch (tutti::out_of_shared_memory const&) {
          ++refused;
        }
      }
    }
    for (auto const& [p, n] : live) {
      arena->give(p, n);
    }
    void* const all = arena->take(bytes);
    BOOST_TEST(all != nullptr);
    BOOST_CHECK_THROW(std::ignore = arena->take(1), tutti::out_of_shared_memory);
    arena->give(all, bytes);
    BOOST_TEST_MESSAGE("refused " << refused);
  }
}

/// A host whose shared memory is as small as it is set.
struct small_host : tutti::shared_file {
  [[nodiscard]] bool commit(std::size_t from, std::size_t to) noexcept {
    return to <= limit && tutti::shared_file::commit(from, to);
  }
  std::size_t limit = 2 << 20;
};

/// Where the system has no more memory that is an exception, and nothing is lost.
BOOST_AUTO_TEST_CASE(a_shortage_is_an_exception) {
  auto const arena = make<small_host>(4096, 64 << 20);
  void* const first = arena->take(1 << 20);
  BOOST_CHECK_THROW(std::ignore = arena->take(8 << 20), tutti::out_of_shared_memory);
  arena->give(first, 1 << 20);
  void* const again = arena->take(1 << 20);
  BOOST_TEST(again == first);
  arena->file.limit = 64 << 20;
  void* const large = arena->take(8 << 20);
  std::memset(large, 1, 8 << 20);
  arena->give(large, 8 << 20);
  arena->give(again, 1 << 20);
}

BOOST_AUTO_TEST_CASE(impossible_sizes) {
  auto const arena = make(4096, 1 << 20);
  for (std::size_t const n : {std::size_t{2} << 20, SIZE_MAX / 2, SIZE_MAX}) {
    BOOST_CHECK_THROW(std::ignore = arena->take(n), std::bad_alloc);
  }
  void* const none = arena->take(0);
  arena->give(none, 0);
}

}  // namespace
