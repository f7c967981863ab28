// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_shared_memory_moving
#include <laws/operator_cases.hpp>
#include <tutti/transport/shared_memory.hpp>

support::cases const test_cases{
    {"moved_elements_arrive_where_they_belong", laws::moved_elements_arrive_where_they_belong<tutti::shared_memory>}};

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
