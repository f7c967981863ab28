// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/detail/core/heap_memory.hpp>
#include <tutti/extend/intrusive_pointer.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>

/// The heap as a source of buffers: aligned, writable to the last byte, given back at any size.
namespace {

using namespace tutti;
using namespace tutti::detail;

BOOST_AUTO_TEST_CASE(buffers_of_every_class_of_sizes) {
  intrusive_pointer<memory_source> const heap = heap_memory::source();
  for (std::size_t const bytes : {std::size_t{1}, std::size_t{63}, std::size_t{4096}, (std::size_t{4} << 20) - 1,
                                  std::size_t{4} << 20, (std::size_t{5} << 20) + 1}) {
    void* const memory = heap->take(bytes);
    BOOST_TEST_REQUIRE(memory != nullptr);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(memory) % memory_source::alignment == 0U, bytes);
    std::memset(memory, 1, bytes);
    heap->give(memory, bytes);
  }
}

BOOST_AUTO_TEST_CASE(all_sources_are_the_same_heap) {
  BOOST_TEST(heap_memory::source().get() == heap_memory::source().get());
}

}  // namespace
