// SPDX-License-Identifier: Apache-2.0
//
// All loops of the library that must round products separately, for check.sh. This file is compiled, not run.
#include <tutti/cuda/detail/device/after_fold.hpp>
#include <tutti/detail/reduction/fold.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_step.hpp>
#include <tutti/nn/cuda/detail/device/elements.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/fixed_point_sum.hpp>

#include <complex>

namespace tutti::inline v0_1_0::detail {

using operand = std::byte const*;
using result = std::byte*;

template void fold(prod<std::complex<float>> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(prod<std::complex<double>> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(mean<float> const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void fold(fixed_point_sum const&, fold_kind, operand, operand, result, std::size_t, rank_type);
template void run(fpga_nic::weight_step, std::size_t, float*, float const*, float const*);

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

void follow(nn::detail::device::followed const& f, std::size_t n, float* weights, float* velocities, float const* g) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    auto const update = f(weights[i], velocities[i], g[i]);
    weights[i] = update.first;
    velocities[i] = update.second;
  }
}

void follow(nn::detail::device::followed_at_once const& f, std::size_t n, float* weights, float const* g) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    weights[i] = f(weights[i], g[i]);
  }
}

}  // namespace tutti::detail
