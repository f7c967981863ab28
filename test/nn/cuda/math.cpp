// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip one_compiler (it has read the laws over a model)
//
// A GPU agrees with the CPU's layers.
#include <nn/cuda/device/device_math_laws.hpp>
#include <tutti/nn/cuda/detail/runtime/math.hpp>

#include <cstdio>

namespace {

using cuda_math = tutti::nn::detail::runtime::math;
static_assert(tutti::nn::detail::device::device_math<cuda_math>);

[[nodiscard]] int devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_device_it_says_so) {
  if (devices() == 0) {
    BOOST_CHECK_EXCEPTION(cuda_math(0, tutti::nn::precision::float32), tutti::cuda::error, [](auto const& e) {
      return std::string(e.what()).starts_with("taking device 0 of CUDA failed: ");
    });
  }
}

BOOST_AUTO_TEST_CASE(it_computes_what_the_cpu_s_layers_do) {
  if (devices() == 0) {
    std::puts("SKIPPED: no CUDA device");
    return;
  }
  laws::check_math<cuda_math>(0);
}
