// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>

#include <thread>

namespace tutti::inline v0_1_0::nn::detail::inline simulation {

/// Prolongs the computing between `resume` and `hold` by a factor: `hold` sleeps for the difference. A sleep that was
/// too long shortens the next one.
class slowdown {
 public:
  /// @pre factor >= 1
  explicit slowdown(double factor = 1) { set(factor); }

  /// Sets the factor, which applies from the last `resume` on.
  /// @pre factor >= 1
  void set(double factor) {
    expects(factor >= 1, "simulated speed: a factor of slowness must be 1 or more, not ", factor);
    factor_ = factor;
  }

  void resume() { since_ = steady_now(); }
  void hold() {
    if (factor_ > 1) {
      time_point const now = steady_now();
      owed_ += duration(static_cast<duration::rep>((factor_ - 1) * static_cast<double>((now - since_).count())));
      if (owed_ > duration{}) {
        std::this_thread::sleep_for(owed_);
      }
      since_ = steady_now();
      owed_ -= since_ - now;
    }
  }

 private:
  double factor_ = 1;
  time_point since_{};
  duration owed_{};
};

}  // namespace tutti::nn::detail::simulation
