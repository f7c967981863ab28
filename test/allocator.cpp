// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <support/process_ranks.hpp>
#include <support/transports.hpp>
#include <support/watched.hpp>
#include <tutti/allocator.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/spawn.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <list>
#include <string>
#include <sys/resource.h>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

using tutti::rank_type;
template <class T>
using buffer = std::vector<T, tutti::allocator<T>>;

/// 300,010 values that begin with `first` and increase by `step`.
std::vector<int> ascending(int first, int step) {
  std::vector<int> v(300'010);
  for (int& x : v) {
    x = first;
    first += step;
  }
  return v;
}

/// Sums in buffers of `tutti::allocator`, and returns a complaint if a result or the alignment is wrong. In round k
/// this rank contributes the elements of `numbers` from k on; the sums are the elements of `sums` from k on.
template <class Topology>
std::string sums_are_right(auto& world, Topology topology, std::vector<int> const& numbers,
                           std::vector<int> const& sums) {
  for (std::size_t const count : {1UL, 13UL, 1000UL, 300'000UL}) {
    buffer<int> v(count, tutti::allocator<int>(world));
    buffer<int> output(count, tutti::allocator<int>(world));
    if (reinterpret_cast<std::uintptr_t>(v.data()) % 64 != 0) {
      return "the buffer is not aligned";
    }
    tutti::allreduce sum{world, topology, tutti::sum<int>{}};
    for (std::size_t round = 0; round < 4; ++round) {
      bool const in_place = round % 2 == 0;
      sum.segment(round < 2 ? 0 : 65536);
      std::memcpy(v.data(), numbers.data() + round, count * sizeof(int));
      in_place ? sum(v) : sum(v, output);
      buffer<int> const& result = in_place ? v : output;
      if (std::memcmp(result.data(), sums.data() + round, count * sizeof(int)) != 0) {
        return "of " + std::to_string(count) + " elements one is wrong";
      }
    }
  }
  return "";
}

template <class Transport>
void serves_operators(rank_type n) {
  for (auto const& end : tutti::spawn<Transport>(n, [](auto& world) {
         int const size = static_cast<int>(world.size());
         std::vector<int> const numbers = ascending(static_cast<int>(world.rank()), 1);
         std::vector<int> const sums = ascending(size * (size - 1) / 2, size);
         std::string bad = sums_are_right(world, tutti::ring{}, numbers, sums);
         bad = bad.empty() ? sums_are_right(world, tutti::butterfly{}, numbers, sums) : bad;
         bad = bad.empty() ? sums_are_right(world, tutti::direct{}, numbers, sums) : bad;
         return bad.empty() ? sums_are_right(world, tutti::binary_tree{}, numbers, sums) : bad;
       })) {
    BOOST_TEST(end.value() == "");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(buffers_serve_operators, Transport, support::transports) {
  for (rank_type const n : {1U, 2U, 3U, 5U, 8U}) {
    serves_operators<Transport>(n);
  }
}

/// An element larger than the parts in which a sum is made in a peer's memory.
struct page {
  std::array<int, 1500> values;
};

template <class Transport>
void sums_pages() {
  for (auto const& end : tutti::spawn<Transport>(2, [](auto& world) -> std::string {
         auto const add = [](page a, page const& b) {
           for (std::size_t i = 0; i < a.values.size(); ++i) {
             a.values[i] += b.values[i];
           }
           return a;
         };
         tutti::allreduce sum{world, tutti::direct{},
                              tutti::reduce_with<page>(add, tutti::associative, tutti::commutative)};
         buffer<page> v(7, tutti::allocator<page>(world));
         for (std::size_t i = 0; i < v.size(); ++i) {
           v[i].values.fill(static_cast<int>(world.rank() + i));
         }
         sum(v);
         for (std::size_t i = 0; i < v.size(); ++i) {
           if (v[i].values.front() != static_cast<int>(1 + 2 * i) || v[i].values.back() != v[i].values.front()) {
             return "page " + std::to_string(i) + " is wrong";
           }
         }
         return "";
       })) {
    BOOST_TEST(end.value() == "");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(elements_may_be_large, Transport, support::transports) {
  sums_pages<Transport>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(containers_copy_move_and_swap, Transport, support::only_shared_memory) {
  for (auto const& end : tutti::spawn<Transport>(2, [](auto& world) -> std::string {
         tutti::allocator<int> const allocator(world);
         buffer<int> a(100, 1, allocator);
         buffer<int> b = a;
         buffer<int> c = std::move(a);
         b.swap(c);
         c = b;
         b.resize(1000);
         std::list<int, tutti::allocator<int>> l({1, 2, 3}, allocator);  // rebinds the allocator
         return b.get_allocator() == allocator && c.size() == 100 && b[99] == 1 && l.back() == 3 ? "" : "lost";
       })) {
    BOOST_TEST(end.value() == "");
  }
}

/// The offset of address `p` in the file mapped there; 0 if none is mapped.
std::uint64_t place_in_file(void const* p) {
  auto const at = reinterpret_cast<std::uintptr_t>(p);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &offset) == 3 && begin <= at && at < end) {
      return offset + (at - begin);
    }
  }
  return 0;
}

// A cache indexes by some bits of an address. If buffers differed in one bit only, the operands of two ranks could
// evict each other.
BOOST_AUTO_TEST_CASE_TEMPLATE(like_buffers_of_two_ranks_differ_in_more_than_one_bit, Transport,
                              support::only_shared_memory) {
  std::vector<std::uint64_t> offsets;
  for (auto const& end : tutti::spawn<Transport>(4, [](auto& world) {
         buffer<float> const v(1000, tutti::allocator<float>(world));
         return place_in_file(v.data());
       })) {
    BOOST_TEST(end.value() != 0U);
    for (std::uint64_t const offset : offsets) {
      BOOST_TEST(std::popcount(offset ^ end.value()) > 1);
    }
    offsets.push_back(end.value());
  }
}

/// A buffer keeps its memory mapped after its world has ended.
BOOST_AUTO_TEST_CASE_TEMPLATE(buffers_outlive_their_world, Transport, support::only_shared_memory) {
  for (auto const& end : tutti::detail::run_processes(2, [](auto& meet) -> std::string {
         buffer<int> v = [&] {
           tutti::communicator<Transport> world(meet);
           return buffer<int>(1'000'000, 7, tutti::allocator<int>(world));
         }();
         v.push_back(8);
         return v.front() == 7 && v.back() == 8 ? "" : "lost";
       })) {
    BOOST_TEST(end.value() == "");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_full_segment_is_an_error_that_says_what_to_do, Transport, support::only_shared_memory) {
  tutti::world_options<Transport> o;
  o.transport.arena_bytes = 1 << 20;
  for (auto const& end : tutti::spawn<Transport>(
           2,
           [](auto& world) -> std::string {
             buffer<char> const filler((1 << 20) - 64, tutti::allocator<char>(world));
             try {
               buffer<char> const excess(100, tutti::allocator<char>(world));
             } catch (std::bad_alloc const& e) {
               return e.what();
             }
             return "";
           },
           o)) {
    BOOST_TEST(end.value().find("arena_bytes") != std::string::npos);
  }
}

std::size_t address_space() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  return pages * 4096;
}

/// The bytes of address space mapped as shared. A sanitizer's own mappings are private.
std::size_t shared_address_space() {
  std::ifstream maps("/proc/self/maps");
  std::size_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char sharing = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*3c%c", &begin, &end, &sharing) == 3 && sharing == 's') {
      bytes += end - begin;
    }
  }
  return bytes;
}

using transports_of_parts =
    std::conditional_t<support::without_processes, support::no_transport,
                       std::tuple<tutti::shared_memory, tutti::by_locality<tutti::shared_memory, tutti::tcp>>>;

/// A split world uses the memory of its parent: hundreds of splits map no more than one, and buffers of the parent's
/// allocators are read without a copy in the part, too.
BOOST_AUTO_TEST_CASE_TEMPLATE(parts_share_the_memory_of_the_whole, Transport, transports_of_parts) {
  for (auto const& end : tutti::spawn<Transport>(4, [](auto& world) -> std::string {
         buffer<int> const original(200'000, static_cast<int>(world.rank()), tutti::allocator<int>(world));
         std::size_t first_bytes = 0;
         int const turns = support::is_watched ? 40 : 200;
         for (int turn = 0; turn < turns; ++turn) {
           auto part = tutti::split(world, world.rank() % 2);
           buffer<int> v = original;
           tutti::allreduce{part, tutti::butterfly{}, tutti::sum<int>{}}(v);
           if (v.front() != 2 * static_cast<int>(world.rank() % 2) + 2 || v.back() != v.front()) {
             return "a sum is wrong";
           }
           auto const bytes = std::as_bytes(std::span(original)).first(600'000);
           part.transport().begin({0, 9999}, tutti::make_call(tutti::operation_kind::allreduce, "", "", ""));
           if (!part.transport().shares(1 - part.rank(), {0, 9999}, bytes)) {
             return "a buffer of the whole is not read where it is";
           }
           tutti::barrier{world, tutti::doubling{}}();
           std::size_t const mapped_bytes = shared_address_space();
           first_bytes = turn == 0 ? mapped_bytes : first_bytes;
           if (mapped_bytes == 0 || mapped_bytes > first_bytes) {
             return "after " + std::to_string(turn + 1) + " splits " + std::to_string(mapped_bytes) +
                    " bytes are mapped, after one " + std::to_string(first_bytes);
           }
         }
         return "";
       })) {
    BOOST_TEST(end.value() == "");
  }
}

/// Address space is mapped on demand, so a small limit suffices; reaching the limit is an error that names it.
BOOST_AUTO_TEST_CASE_TEMPLATE(little_address_space_will_do, Transport, support::only_shared_memory) {
  constexpr std::size_t headroom = std::size_t{128} << 20;
  for (auto const& end : tutti::detail::run_processes(4, [](auto& meet) -> std::string {
         rlimit const limit{address_space() + headroom, RLIM_INFINITY};
         ::setrlimit(RLIMIT_AS, &limit);
         tutti::communicator<Transport> world(meet);
         buffer<int> v(1'000'000, 1, tutti::allocator<int>(world));
         tutti::allreduce sum{world, tutti::butterfly{}, tutti::sum<int>{}};
         sum(v);
         if (v.front() != 4 || v.back() != 4) {
           return "a sum is wrong";
         }
         try {
           buffer<char> const excess(headroom, tutti::allocator<char>(world));
         } catch (std::bad_alloc const& e) {
           return e.what();
         }
         return "there is more";
       })) {
    BOOST_TEST(end.value().find("ulimit -v") != std::string::npos, end.value());
  }
}

}  // namespace
