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
  cudaPointerAttributes known{};
  bool const good = cudaPointerGetAttributes(&known, p) == cudaSuccess;
  static_cast<void>(cudaGetLastError());
  return good && known.type != cudaMemoryTypeUnregistered;
}

}  // namespace

BOOST_AUTO_TEST_CASE(there_and_back) {
  if (!has_device()) {
    return;
  }
  cuda::stream const in;
  for (std::size_t const n : {1U, 1000U, 1U << 20}) {
    cuda::pinned_array<int> from(n);
    std::iota(from.begin(), from.end(), 7);
    cuda::array<int> there(n);
    there.copy_from({from.data(), n}, in);
    cuda::array<int> const moved(std::move(there));
    std::vector<int> back(n);
    moved.copy_to(back, in);
    in.wait();
    BOOST_TEST(std::equal(back.begin(), back.end(), from.begin()));
    BOOST_CHECK_THROW(moved.copy_to({back.data(), n - 1}, in), tutti::precondition_error);
  }
}

BOOST_AUTO_TEST_CASE(a_stream_waits_for_a_word) {
  if (!has_device()) {
    return;
  }
  tutti::detail::runtime::stream_memory const memory(0);
  cuda::stream const held;
  cuda::stream const other;
  cuda::pinned_array<std::uint64_t> words(2);
  words[0] = words[1] = 0;
  memory.wait(held.native(), &words[0], 7);
  memory.write(held.native(), &words[1], 1);
  BOOST_TEST(cudaStreamQuery(held.native()) == cudaErrorNotReady);
  memory.write(other.native(), &words[0], 6);
  other.wait();
  BOOST_TEST(cudaStreamQuery(held.native()) == cudaErrorNotReady);
  memory.write(other.native(), &words[0], 8);
  held.wait();
  BOOST_TEST(words[1] == 1U);
}

BOOST_AUTO_TEST_CASE(memory_that_is_given_back_waits_for_the_last_user) {
  using tutti::detail::runtime::unused_memory;
  if (!has_device()) {
    return;
  }
  int made = 0;
  auto const take = [&](int place, std::size_t bytes) {
    return unused_memory::take(place, bytes, [&] {
      void* p = nullptr;
      ++made;
      auto const code = place == unused_memory::host ? cudaMallocHost(&p, bytes) : cudaMalloc(&p, bytes);
      BOOST_REQUIRE(code == cudaSuccess);
      return static_cast<std::byte*>(p);
    });
  };
  for (int const place : {0, unused_memory::host}) {
    made = 0;
    std::optional<unused_memory::user> first(std::in_place);
    std::byte* const a = take(place, 1000);
    {
      unused_memory::user const second;
      std::byte* const b = take(place, 1000);
      BOOST_TEST(a != b);
      unused_memory::give_back(a);
      BOOST_TEST(take(place, 1001) != a);
      BOOST_TEST(made == 3);
      BOOST_TEST(take(place, 1000) == a);
      BOOST_TEST(made == 3);
      unused_memory::give_back(a);
      unused_memory::give_back(b);
    }
    BOOST_TEST(is_allocated(a));
    first.reset();
    BOOST_TEST(!is_allocated(a));
  }
}
