// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/product.hpp>
#include <tutti/detail/reduction/kernel.hpp>
#include <tutti/detail/reduction/number.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>

#include <bit>
#include <cstddef>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// A step of stochastic gradient descent on a device: w - rate (g + decay w), and w - rate g if decay is 0. Each
/// operation is rounded separately, as in nn::sgd without momentum: the kernels are compiled without fused
/// multiply-add, and `product` prevents it in programs that are compiled with it. NaNs are canonical.
struct weight_step {
  static constexpr instruction_set widest = instruction_set::avx2;

  float rate;
  float decay;

  explicit weight_step(update_terms const& t) noexcept
      : rate(std::bit_cast<float>(t.rate)), decay(std::bit_cast<float>(t.decay)) {}

  [[nodiscard]] constexpr float operator()(float weight, float gradient) const noexcept {
    float const slope = decay == 0 ? gradient : gradient + product(decay, weight);
    return canonical(weight - product(rate, slope));
  }
};

}  // namespace tutti::detail::fpga_nic
