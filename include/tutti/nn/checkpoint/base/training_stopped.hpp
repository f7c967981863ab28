// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tutti::inline v0_1_0::nn {

/// Ends a training that was asked to stop, on all ranks after the same step, after its checkpoint.
class training_stopped : public std::runtime_error {
 public:
  /// @param step number of steps of the training so far
  /// @param request the number by which it was asked to stop
  training_stopped(std::uint64_t step, int request)
      : std::runtime_error("the training was asked to stop, and ended after step " + std::to_string(step)),
        step_(step),
        request_(request) {}

  /// The number of steps of the training so far.
  [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
  /// The largest number by which any rank was asked to stop, such as that of a signal.
  [[nodiscard]] int request() const noexcept { return request_; }

 private:
  std::uint64_t step_;
  int request_;
};

}  // namespace tutti::nn
