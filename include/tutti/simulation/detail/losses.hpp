// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline simulation {

/// Draws the messages that a network loses: a share of all, determined by a seed.
class simulated_losses {
 public:
  simulated_losses(double share, std::uint64_t seed) noexcept : share_(share), state_(seed) {}

  /// True if the next message is lost. The generator is splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom
  /// number generators, OOPSLA 2014).
  [[nodiscard]] bool draw() noexcept {
    if (share_ <= 0) {
      return false;
    }
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53 < share_;
  }

 private:
  double share_;
  std::uint64_t state_;
};

}  // namespace tutti::detail::simulation
