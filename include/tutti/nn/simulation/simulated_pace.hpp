// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/parameter_server/train.hpp>
#include <tutti/nn/simulation/detail/slowdown.hpp>

namespace tutti::inline v0_1_0::nn::parameter_server {

/// The pace of a server that is slowed down by a factor. Workers are slowed down by their learners.
class simulated_pace : public full_speed {
 public:
  /// @pre factor >= 1
  explicit simulated_pace(double factor) : slowdown_(factor) {}

  /// Begins computing.
  void resume() { slowdown_.resume(); }
  /// Sleeps for the rest of the simulated computing time.
  void hold() { slowdown_.hold(); }

 private:
  nn::detail::slowdown slowdown_;
};

}  // namespace tutti::nn::parameter_server
