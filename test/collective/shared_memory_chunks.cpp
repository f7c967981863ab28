// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, ranks are processes)
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/shared_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <numeric>
#include <string>
#include <vector>

/// Sets the size of chunks; it may be small, as messages that fit beside a flag bypass them.
tutti::world_options<tutti::shared_memory> with_chunks(std::size_t bytes) {
  tutti::world_options<tutti::shared_memory> o;
  o.transport.chunk_bytes = o.transport.ring_bytes = bytes;
  return o;
}

/// Data that is only moved may be cut anywhere: an element need not fit a chunk.
BOOST_AUTO_TEST_CASE(elements_larger_than_a_chunk) {
  using page = std::array<int, 500>;
  for (std::size_t const chunk : {64U, 128U}) {
    for (auto const& end : tutti::spawn<tutti::shared_memory>(
             3,
             [](auto& world) -> std::string {
               std::vector<page> book(7);
               if (world.rank() == 1) {
                 for (std::size_t i = 0; i < book.size(); ++i) {
                   book[i].fill(static_cast<int>(i));
                 }
               }
               tutti::broadcast share{world, tutti::binary_tree{}};
               share(book, 1);
               for (std::size_t i = 0; i < book.size(); ++i) {
                 if (book[i].front() != static_cast<int>(i) || book[i].back() != static_cast<int>(i)) {
                   return "page " + std::to_string(i) + " is wrong";
                 }
               }
               return "";
             },
             with_chunks(chunk))) {
      BOOST_TEST(end.value() == "", "chunks of " << chunk << ": " << end.value());
    }
  }
}

/// Sums elements of `Bytes` bytes in chunks, in parts shorter and longer than a message that fits beside a flag.
template <std::size_t Bytes>
void sums_through_chunks_of(std::size_t chunk) {
  using element = std::array<std::uint64_t, Bytes / 8>;
  for (auto const& end : tutti::spawn<tutti::shared_memory>(
           3,
           [](auto& world) -> std::string {
             std::vector<element> v(50);
             for (std::size_t i = 0; i < v.size(); ++i) {
               v[i].fill(i + world.rank());
             }
             auto const add = [](element a, element const& b) {
               for (std::size_t k = 0; k < a.size(); ++k) {
                 a[k] += b[k];
               }
               return a;
             };
             tutti::allreduce sum{world, tutti::ring{},
                                  tutti::reduce_with<element>(add, tutti::associative, tutti::commutative)};
             sum(v);
             for (std::size_t i = 0; i < v.size(); ++i) {
               for (std::uint64_t const x : v[i]) {
                 if (x != 3 * i + 3) {
                   return "element " + std::to_string(i) + " is wrong";
                 }
               }
             }
             return "";
           },
           with_chunks(chunk))) {
    BOOST_TEST(end.value() == "", "elements of " << Bytes << " bytes, chunks of " << chunk << ": " << end.value());
  }
}
BOOST_AUTO_TEST_CASE(parts_of_any_length) {
  sums_through_chunks_of<8>(64);
  sums_through_chunks_of<40>(64);
  sums_through_chunks_of<48>(128);
  sums_through_chunks_of<80>(128);
  sums_through_chunks_of<104>(128);
}

/// Many more processes than cores: each of 126 rounds waits for a turn of every process. Checks the result, not the
/// time.
BOOST_AUTO_TEST_CASE(a_crowd_of_processes) {
  constexpr tutti::rank_type ranks = 64;
  tutti::world_options<tutti::shared_memory> o;
  o.transport.chunk_bytes = o.transport.ring_bytes = 4096;  // 23 MiB in all
  for (auto const& end : tutti::spawn<tutti::shared_memory>(
           ranks,
           [](auto& world) -> std::string {
             std::vector<std::uint32_t> v(ranks);
             std::iota(v.begin(), v.end(), world.rank());
             tutti::allreduce sum{world, tutti::ring{}, tutti::sum<std::uint32_t>{}};
             sum(v);
             for (std::uint32_t i = 0; i < ranks; ++i) {
               if (v[i] != ranks * (ranks - 1) / 2 + ranks * i) {
                 return "element " + std::to_string(i) + " is " + std::to_string(v[i]);
               }
             }
             return "";
           },
           o)) {
    BOOST_TEST(end.value() == "");
  }
}
