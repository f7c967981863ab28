// SPDX-License-Identifier: Apache-2.0
//
// All loops of the library that must round products separately, for check.sh. This file is compiled, not run. Each
// component adds its loops if it is there.
#include <tutti/detail/reduction/fold.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/fixed_point_sum.hpp>

#if __has_include(<tutti/in_network/detail/fpga_nic/weight_step.hpp>)
#define HAS_IN_NETWORK
#include <tutti/in_network/detail/fpga_nic/weight_step.hpp>
#endif
#if __has_include(<tutti/cuda/detail/device/after_fold.hpp>)
#define HAS_CUDA
#include <tutti/cuda/detail/device/after_fold.hpp>
#endif
#if defined(HAS_CUDA) && __has_include(<tutti/nn/cuda/detail/device/elements.hpp>)
#define HAS_NN
#include <tutti/nn/cuda/detail/device/elements.hpp>
#endif

#include <complex>

namespace tutti::inline v0_1_0::detail {

using operand = std::byte const*;
using result = std::byte*;

template void fold(prod<std::complex<float>> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(prod<std::complex<double>> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(mean<float> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(fixed_point_sum const&, fold_kind, operand, operand, result, std::size_t, rank_type);
#if defined(HAS_IN_NETWORK)
template void run(fpga_nic::weight_step, std::size_t, float*, float const*, float const*);
#endif

#if defined(HAS_CUDA)
/// A sum of two contributions.
struct sum_of_two {
  constexpr float operator()(float a, float b) const { return a + b; }
};

void step(device::sgd_step<sum_of_two, float> const& f, std::size_t n, float* weights, float* velocities,
          float const* a, float const* b) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    auto const update = f(weights[i], velocities[i], a[i], b[i]);
    weights[i] = update.first;
    velocities[i] = update.second;
  }
}

#endif

#if defined(HAS_NN)
void follow(nn::detail::device::momentum_step const& f, std::size_t n, float* weights, float* velocities,
            float const* g) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    auto const update = f(weights[i], velocities[i], g[i]);
    weights[i] = update.first;
    velocities[i] = update.second;
  }
}

void follow(nn::detail::device::plain_step const& f, std::size_t n, float* weights, float const* g) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    weights[i] = f(weights[i], g[i]);
  }
}
#endif

}  // namespace tutti::detail
