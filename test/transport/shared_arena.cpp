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

/// The part of the first of two ranks. Its buffers may come to so much.
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

/// Whatever is taken and given back in whatever order: buffers are aligned, apart, inside, and keep what
/// was written to them; and when all are given back, the arena is whole again.
BOOST_AUTO_TEST_CASE(buffers_never_overlap) {
  constexpr std::size_t bytes = 1 << 20;
  for (unsigned seed = 0; seed < 4; ++seed) {
    auto const arena = make(bytes);
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
          ++refused;
        }
      }
    }
    for (auto const& [p, n] : live) {
      arena->give(p, n);
    }
    void* const all = arena->take(bytes);
    BOOST_TEST(all != nullptr);
    BOOST_CHECK_THROW(std::ignore = arena->take(1), tutti::detail::out_of_shared_memory);
    arena->give(all, bytes);
    BOOST_TEST_MESSAGE("refused " << refused);
  }
}

/// A host whose shared memory is as small as it is set.
struct small_host : tutti::detail::shared_file {
  [[nodiscard]] std::string commit(std::uint64_t from, std::uint64_t to) const {
    return to <= limit ? tutti::detail::shared_file::commit(from, to) : "this host has 2 MiB";
  }
  std::uint64_t limit = 2 << 20;
};

/// Where the system has no more memory that is an exception, and nothing is lost.
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

/// No address space is taken before it is used, and each window is as large as all before it: there are few.
BOOST_AUTO_TEST_CASE(windows_are_opened_when_they_are_needed) {
  auto const arena = make(SIZE_MAX);
  BOOST_TEST(arena->locate(arena->file.base()) == 0U);
  std::set<std::uint64_t> windows;
  std::vector<void*> taken;
  for (int i = 0; i < 100; ++i) {
    taken.push_back(arena->take(3 << 20));
    windows.insert(arena->locate(taken.back()) >> 48);
  }
  BOOST_TEST(windows.size() <= 6U);
  for (void* const p : taken) {
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

/// A forked child has the same memory, of which its parent keeps book.
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

/// What is allotted comes back when all have ended it, and not before; it does not count as a buffer.
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
  void* const none = arena->take(0);
  arena->give(none, 0);
}

}  // namespace
