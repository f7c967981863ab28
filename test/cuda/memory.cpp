// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip
//
// What is copied to a device and back is what it was.
#include <cuda/device.hpp>
#include <tutti/cuda/array.hpp>
#include <tutti/cuda/pinned_array.hpp>
#include <tutti/cuda/stream.hpp>
#include <tutti/detail/cuda/stream_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace {

namespace cuda = tutti::cuda;

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
  tutti::detail::cuda::stream_memory const memory(0);
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
