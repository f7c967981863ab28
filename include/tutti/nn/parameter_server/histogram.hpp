// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::nn::parameter_server {

/// How often each small number was added. It travels as it is.
class histogram {
 public:
  static constexpr std::size_t places = 33;  ///< the last one counts all numbers from there on

  /// Counts a number; the last place counts all that are larger.
  void add(std::uint64_t number) noexcept { ++counts_[number < places ? number : places - 1]; }
  /// Adds another's counts.
  histogram& operator+=(histogram const& other) noexcept {
    for (std::size_t i = 0; i != places; ++i) {
      counts_[i] += other.counts_[i];
    }
    return *this;
  }

  /// How often i was counted.
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const noexcept { return counts_[i]; }
  /// How many numbers were counted.
  [[nodiscard]] std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (auto const count : counts_) {
      sum += count;
    }
    return sum;
  }
  /// The largest number added; 0 if there was none.
  [[nodiscard]] std::size_t largest() const noexcept {
    std::size_t i = places - 1;
    while (i != 0 && counts_[i] == 0) {
      --i;
    }
    return i;
  }

 private:
  std::array<std::uint64_t, places> counts_{};
};

}  // namespace tutti::nn::parameter_server
