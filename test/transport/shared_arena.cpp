// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#include <tutti/detail/shared_memory/shared_arena.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <map>
#include <random>
#include <set>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

/// Makes the part of rank 0 of two, with a limit for its buffers.
template <class File = tutti::detail::shared_file>
auto make(std::size_t bytes) {
  auto arena = tutti::detail::basic_shared_arena<File>::create();
  arena->file.create(8192);
  tutti::detail::window_table table(arena->file.base(), 2);
  static_assert(tutti::detail::window_table::bytes(2) <= 8192);
  table.construct(8192);
  arena->set_table(table, 0, bytes);
  return arena;
}

/// Buffers taken and given back in random order are aligned, disjoint, inside the arena, and keep their bytes; when all
/// are given back, the arena is whole again.
BOOST_AUTO_TEST_CASE(buffers_never_overlap) {
  constexpr std::size_t bytes = 1 << 20;
  for (unsigned seed = 0; seed < 4; ++seed) {
    auto const arena = make(bytes);
    std::minstd_rand random(seed + 1);
    std::map<unsigned char*, std::size_t> live;
    std::size_t refusals = 0;
    for (int i = 0; i < 3000; ++i) {
      if (random() % 2 == 0 && !live.empty()) {
        auto entry = live.begin();
        std::advance(entry, static_cast<long>(random() % live.size()));
        auto const tag = static_cast<unsigned char>(entry->second * 31);
        if (entry->second != 0) {  // the first byte is right, and each other one equals the one before it
          BOOST_REQUIRE(*entry->first == tag);
          BOOST_REQUIRE(std::memcmp(entry->first, entry->first + 1, entry->second - 1) == 0);
        }
        arena->give(entry->first, entry->second);
        live.erase(entry);
      } else {
        std::size_t const n = random() % (random() % 8 == 0 ? 100'000 : 500);
        try {
          auto* const p = static_cast<unsigned char*>(arena->take(n));
          BOOST_REQUIRE(reinterpret_cast<std::uintptr_t>(p) % 64 == 0);
          BOOST_REQUIRE(arena->locate(p) != 0U);
          BOOST_REQUIRE(reinterpret_cast<unsigned char*>(arena->address_of(0, arena->locate(p))) == p);
          auto const next = live.lower_bound(p);
          BOOST_REQUIRE((next == live.end() || p + n <= next->first));
          BOOST_REQUIRE((next == live.begin() || std::prev(next)->first + std::prev(next)->second <= p));
          BOOST_REQUIRE(!live.contains(p));
          std::memset(p, static_cast<unsigned char>(n * 31), n);
          live[p] = n;
        } catch (tutti::detail::out_of_shared_memory const&) {
          ++refusals;
        }
      }
    }
    for (auto const& [p, n] : live) {
      arena->give(p, n);
    }
    void* const whole = arena->take(bytes);
    BOOST_TEST(whole != nullptr);
    BOOST_CHECK_THROW(std::ignore = arena->take(1), tutti::detail::out_of_shared_memory);
    arena->give(whole, bytes);
    BOOST_TEST_MESSAGE("refused " << refusals);
  }
}

/// A host with a given amount of shared memory.
struct small_host : tutti::detail::shared_file {
  [[nodiscard]] std::string commit(std::uint64_t begin, std::uint64_t end) const {
    return end <= limit ? tutti::detail::shared_file::commit(begin, end) : "this host has 2 MiB";
  }
  std::uint64_t limit = 2 << 20;
};

/// A shortage of memory is an exception, and loses nothing.
BOOST_AUTO_TEST_CASE(a_shortage_is_an_exception) {
  auto const arena = make<small_host>(64 << 20);
  void* const first = arena->take(1 << 20);
  BOOST_CHECK_EXCEPTION(std::ignore = arena->take(8 << 20), tutti::detail::out_of_shared_memory, [](auto const& e) {
    return std::string_view(e.what()).starts_with("no shared memory is left for a buffer: this host has 2 MiB; free ");
  });
  arena->give(first, 1 << 20);
  void* const again = arena->take(1 << 20);
  BOOST_TEST(again == first);
  arena->file.limit = 64 << 20;
  void* const large = arena->take(8 << 20);
  std::memset(large, 1, 8 << 20);
  arena->give(large, 8 << 20);
  arena->give(again, 1 << 20);
}

/// Address space is taken on use, and each window is as large as all before it, so they are few.
BOOST_AUTO_TEST_CASE(windows_are_opened_when_they_are_needed) {
  auto const arena = make(SIZE_MAX);
  BOOST_TEST(arena->locate(arena->file.base()) == 0U);
  std::set<std::uint64_t> windows;
  std::vector<void*> buffers;
  for (int i = 0; i < 100; ++i) {
    buffers.push_back(arena->take(3 << 20));
    windows.insert(arena->locate(buffers.back()) >> 48);
  }
  BOOST_TEST(windows.size() <= 6U);
  for (void* const p : buffers) {
    arena->give(p, 3 << 20);
  }
}

/// Requests that no host can satisfy are refused, and leave room for others.
BOOST_AUTO_TEST_CASE(impossible_requests_take_nothing) {
  for (std::size_t const limit : {SIZE_MAX, std::size_t{1} << 45}) {
    auto const arena = make(limit);
    for (int i = 0; i < 1000; ++i) {
      BOOST_CHECK_THROW(std::ignore = arena->take(SIZE_MAX >> (i % 20)), tutti::detail::out_of_shared_memory);
    }
    void* const small = arena->take(4096);
    arena->give(small, 4096);
  }
}

/// A forked child has the same memory, but only its parent may allocate in it.
BOOST_AUTO_TEST_CASE(a_forked_child_gives_nothing_away) {
  auto const arena = make(1 << 20);
  void* const first = arena->take(4096);
  arena->give(first, 4096);
  pid_t const child = ::fork();
  if (child == 0) {
    try {
      std::ignore = arena->take(4096);
    } catch (tutti::precondition_error const&) {
      ::_exit(0);
    }
    ::_exit(1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  BOOST_TEST(arena->take(4096) == first);
  arena->give(first, 4096);
}

/// Allotted memory is freed once all have ended its use, and does not count as a buffer.
BOOST_AUTO_TEST_CASE(loans_come_back) {
  auto const arena = make(1 << 20);
  std::byte* const first = arena->allot(3 << 20, 2);
  arena->end_use(first, 1);
  std::byte* const second = arena->allot(3 << 20, 1);
  BOOST_TEST(second != first);
  arena->end_use(first, 1);
  std::byte* const third = arena->allot(3 << 20, 1);
  BOOST_TEST(third == first);
  void* const buffer = arena->take(1 << 20);
  arena->give(buffer, 1 << 20);
}

BOOST_AUTO_TEST_CASE(impossible_sizes) {
  auto const arena = make(1 << 20);
  for (std::size_t const n : {std::size_t{2} << 20, SIZE_MAX / 2, SIZE_MAX}) {
    BOOST_CHECK_THROW(std::ignore = arena->take(n), std::bad_alloc);
  }
  void* const empty = arena->take(0);
  arena->give(empty, 0);
}

}  // namespace
