// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_shared_memory_moving
#include <laws/all_topologies.hpp>
#include <laws/moving_operators.hpp>
#include <support/worlds.hpp>
#include <tutti/transport/shared_memory.hpp>

BOOST_AUTO_TEST_CASE(moved_elements_arrive_where_they_belong) {
  for (auto const n : laws::world_sizes) {
    support::agree<tutti::shared_memory>(n, [](auto& world) {
      return laws::all_topologies::each(
          [&](auto topology) { return laws::moving<laws::triple>(world, topology, 1023); });
    });
  }
}

/// What is only moved may be cut anywhere: an element need not fit a chunk.
BOOST_AUTO_TEST_CASE(elements_larger_than_a_chunk) {
  tutti::world_options<tutti::shared_memory> o;
  o.transport.chunk_bytes = 64;
  o.transport.ring_bytes = 64;
  using page = std::array<int, 500>;
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
           o)) {
    BOOST_TEST(end.value() == "");
  }
}
