// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/parameter_server/train.hpp>
#include <tutti/nn/simulation/detail/slowdown.hpp>

namespace tutti::inline v0_1_0::nn::parameter_server {

/// Servers take some times as long as their machines do. Workers do so by their learners.
class simulated_pace : public full_speed {
 public:
  /// @pre factor >= 1
  explicit simulated_pace(double factor) : slowdown_(factor) {}

  /// The server computes from now on.
  void resume() { slowdown_.resume(); }
  /// Sleeps for the rest of the time that the computing is to take.
  void hold() { slowdown_.hold(); }

 private:
  nn::detail::slowdown slowdown_;
};

}  // namespace tutti::nn::parameter_server
