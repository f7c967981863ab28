// SPDX-License-Identifier: Apache-2.0
// test: address
//
// CUDA's errors have texts, with a GPU and without one.
#include <tutti/cuda/array.hpp>
#include <tutti/cuda/detail/runtime/memory_handle.hpp>
#include <tutti/cuda/devices.hpp>
#include <tutti/cuda/error.hpp>
#include <tutti/cuda/pinned_array.hpp>
#include <tutti/cuda/staged_transport.hpp>
#include <tutti/cuda/stream.hpp>
#include <tutti/extend/buffer.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace {

namespace cuda = tutti::cuda;

// The host cannot read device memory: no operator for host memory takes it.
static_assert(!tutti::buffer<tutti::device_span<float>> && !tutti::buffer<cuda::array<float>>);
static_assert(tutti::mutable_buffer_of<cuda::pinned_array<float>, float>);
static_assert(std::convertible_to<tutti::device_span<float>, tutti::device_span<float const>>);
static_assert(!std::convertible_to<tutti::device_span<float const>, tutti::device_span<float>>);

[[nodiscard]] bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count != 0;
}

template <class F>
[[nodiscard]] std::string refusal(F const& f) {
  try {
    f();
    return {};
  } catch (cuda::error const& e) {
    BOOST_TEST(e.code() != cudaSuccess);
    return e.what();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_span_knows_its_bounds) {
  float x[4] = {};  // only addresses are used
  tutti::device_span<float> const span(x, 4);
  BOOST_TEST(span.subspan(1, 3).data() == x + 1);
  BOOST_TEST(span.subspan(4, 0).empty());
  BOOST_CHECK_THROW(static_cast<void>(span.subspan(2, 3)), tutti::precondition_error);
  BOOST_CHECK_THROW(static_cast<void>(span.subspan(5, 0)), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_there) {
  std::string const text = refusal([] { cuda::array<float>(std::size_t{1} << 58); });
  BOOST_TEST(text.starts_with("allocating 1152921504606846976 bytes of device memory failed: "), text);
  BOOST_TEST(text.find("nvidia-smi") != std::string::npos, text);
  std::string const pinned_text = refusal([] { cuda::pinned_array<float>(std::size_t{1} << 58); });
  BOOST_TEST(
      pinned_text.starts_with("allocating 1152921504606846976 bytes of host memory whose pages are pinned failed: "),
      pinned_text);
}

BOOST_AUTO_TEST_CASE(nothing_takes_no_device) {
  cuda::array<float> empty(0);
  cuda::array<float> new_owner(std::move(empty));
  BOOST_TEST(new_owner.size() == 0U);
  BOOST_TEST(new_owner.span().empty());
  BOOST_TEST(cuda::pinned_array<int>(0).size() == 0U);
}

BOOST_AUTO_TEST_CASE(devices_are_counted) {
  int count = 0;
  std::string const text = refusal([&] { count = cuda::devices(); });
  BOOST_TEST((count != 0) == has_device());
  BOOST_TEST((text.empty() || text.starts_with("looking for devices of CUDA failed: ")), text);
}

BOOST_AUTO_TEST_CASE(a_stream_without_a_device) {
  std::string const text = refusal([] { cuda::stream(); });
  BOOST_TEST(text.empty() == has_device(), text);
  BOOST_TEST((text.empty() || text.starts_with("making a stream of CUDA failed: ")), text);
}

BOOST_AUTO_TEST_CASE(ranks_without_a_device) {
  auto const results = tutti::spawn<cuda::staged_transport<tutti::loopback>>(2, [](auto&) {});
  for (auto const& result : results) {
    std::string text;
    try {
      result.value();
    } catch (tutti::error const& e) {
      text = e.what();
    }
    BOOST_TEST(text.empty() == has_device(), text);
    BOOST_TEST((text.empty() || text.find("cuda_staged: rank 0: ") != std::string::npos), text);
  }
}

BOOST_AUTO_TEST_CASE(a_handle_of_memory_is_a_text) {
  using tutti::detail::runtime::memory_handle;
  cudaIpcMemHandle_t handle{};
  for (std::size_t i = 0; i != sizeof handle.reserved; ++i) {
    handle.reserved[i] = static_cast<char>(i * 5);
  }
  std::string const text = memory_handle::text(handle);
  cudaIpcMemHandle_t const back = memory_handle::parse(text);
  BOOST_TEST(std::memcmp(&handle, &back, sizeof handle) == 0);
  for (std::string const& wrong : {std::string(), text + "0", text.substr(1), "x" + text.substr(1)}) {
    BOOST_CHECK_THROW(static_cast<void>(memory_handle::parse(wrong)), tutti::precondition_error);
  }
}
