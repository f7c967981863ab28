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
  static constexpr clock_value gone = UINT64_MAX;

  explicit clocks(std::size_t workers) : at_(workers) {}

  [[nodiscard]] std::size_t workers() const noexcept { return at_.size(); }
  [[nodiscard]] clock_value operator[](std::size_t worker) const noexcept { return at_[worker]; }
  void reach(std::size_t worker, clock_value clock) noexcept { at_[worker] = (std::max)(at_[worker], clock); }
  void drop(std::size_t worker) noexcept { at_[worker] = gone; }

  /// The clock of the slowest worker; `gone` if all are lost.
  [[nodiscard]] clock_value least() const noexcept { return *std::ranges::min_element(at_); }
  /// The clock of the slowest worker other than this one; `gone` if there is no other.
  [[nodiscard]] clock_value least_but(std::size_t worker) const noexcept {
    clock_value least = gone;
    for (std::size_t w = 0; w != at_.size(); ++w) {
      least = w == worker ? least : (std::min)(least, at_[w]);
    }
    return least;
  }

 private:
  std::vector<clock_value> at_;
};

}  // namespace tutti::nn::parameter_server::detail
