// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip
//
// Copies to a device and back preserve every value.
#include <cuda/device.hpp>
#include <tutti/cuda/array.hpp>
#include <tutti/cuda/detail/runtime/stream_memory.hpp>
#include <tutti/cuda/detail/runtime/unused_memory.hpp>
#include <tutti/cuda/pinned_array.hpp>
#include <tutti/cuda/stream.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace {

namespace cuda = tutti::cuda;

/// True if CUDA knows an address.
bool is_allocated(void const* p) {
  cudaPointerAttributes attributes{};
  bool const good = cudaPointerGetAttributes(&attributes, p) == cudaSuccess;
  static_cast<void>(cudaGetLastError());
  return good && attributes.type != cudaMemoryTypeUnregistered;
}

}  // namespace

BOOST_AUTO_TEST_CASE(there_and_back) {
  if (!has_device()) {
    return;
  }
  cuda::stream const stream;
  for (std::size_t const n : {1U, 1000U, 1U << 20}) {
    cuda::pinned_array<int> source(n);
    std::iota(source.begin(), source.end(), 7);
    cuda::array<int> first_owner(n);
    first_owner.copy_from({source.data(), n}, stream);
    cuda::array<int> const new_owner(std::move(first_owner));
    std::vector<int> back(n);
    new_owner.copy_to(back, stream);
    stream.wait();
    BOOST_TEST(std::equal(back.begin(), back.end(), source.begin()));
    BOOST_CHECK_THROW(new_owner.copy_to({back.data(), n - 1}, stream), tutti::precondition_error);
  }
}

BOOST_AUTO_TEST_CASE(a_stream_waits_for_a_word) {
  if (!has_device()) {
    return;
  }
  tutti::detail::runtime::stream_memory const memory(0);
  cuda::stream const held_stream;
  cuda::stream const other;
  cuda::pinned_array<std::uint64_t> words(2);
  words[0] = words[1] = 0;
  memory.wait(held_stream.native(), &words[0], 7);
  memory.write(held_stream.native(), &words[1], 1);
  BOOST_TEST(cudaStreamQuery(held_stream.native()) == cudaErrorNotReady);
  memory.write(other.native(), &words[0], 6);
  other.wait();
  BOOST_TEST(cudaStreamQuery(held_stream.native()) == cudaErrorNotReady);
  memory.write(other.native(), &words[0], 8);
  held_stream.wait();
  BOOST_TEST(words[1] == 1U);
}

BOOST_AUTO_TEST_CASE(memory_that_is_given_back_waits_for_the_last_user) {
  using tutti::detail::runtime::unused_memory;
  if (!has_device()) {
    return;
  }
  int allocation_count = 0;
  auto const take = [&](int place, std::size_t bytes) {
    return unused_memory::take(place, bytes, [&] {
      void* p = nullptr;
      ++allocation_count;
      auto const code = place == unused_memory::host ? cudaMallocHost(&p, bytes) : cudaMalloc(&p, bytes);
      BOOST_REQUIRE(code == cudaSuccess);
      return static_cast<std::byte*>(p);
    });
  };
  for (int const place : {0, unused_memory::host}) {
    allocation_count = 0;
    std::optional<unused_memory::user> first(std::in_place);
    std::byte* const a = take(place, 1000);
    {
      unused_memory::user const second;
      std::byte* const b = take(place, 1000);
      BOOST_TEST(a != b);
      unused_memory::give_back(a);
      BOOST_TEST(take(place, 1001) != a);
      BOOST_TEST(allocation_count == 3);
      BOOST_TEST(take(place, 1000) == a);
      BOOST_TEST(allocation_count == 3);
      unused_memory::give_back(a);
      unused_memory::give_back(b);
    }
    BOOST_TEST(is_allocated(a));
    first.reset();
    BOOST_TEST(!is_allocated(a));
  }
}
