// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/parameter_server/base/consistency.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// The clock of each worker. Others do not wait for lost workers.
class clocks {
 public:
  static constexpr clock_value lost_clock = UINT64_MAX;

  explicit clocks(std::size_t workers) : values_(workers) {}

  [[nodiscard]] std::size_t workers() const noexcept { return values_.size(); }
  [[nodiscard]] clock_value operator[](std::size_t worker) const noexcept { return values_[worker]; }
  void reach(std::size_t worker, clock_value clock) noexcept { values_[worker] = (std::max)(values_[worker], clock); }
  void drop(std::size_t worker) noexcept { values_[worker] = lost_clock; }

  /// The clock of the slowest worker; `lost_clock` if all are lost.
  [[nodiscard]] clock_value least() const noexcept { return *std::ranges::min_element(values_); }
  /// The clock of the slowest worker other than this one; `lost_clock` if there is no other.
  [[nodiscard]] clock_value least_of_others(std::size_t worker) const noexcept {
    clock_value least = lost_clock;
    for (std::size_t w = 0; w != values_.size(); ++w) {
      least = w == worker ? least : (std::min)(least, values_[w]);
    }
    return least;
  }

 private:
  std::vector<clock_value> values_;
};

}  // namespace tutti::nn::parameter_server::detail
