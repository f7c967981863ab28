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

  void resume() { begin_ = steady_now(); }
  void hold() {
    if (factor_ > 1) {
      time_point const now = steady_now();
      missing_sleep_ +=
          duration(static_cast<duration::rep>((factor_ - 1) * static_cast<double>((now - begin_).count())));
      if (missing_sleep_ > duration{}) {
        std::this_thread::sleep_for(missing_sleep_);
      }
      begin_ = steady_now();
      missing_sleep_ -= begin_ - now;
    }
  }

 private:
  double factor_ = 1;
  time_point begin_{};
  duration missing_sleep_{};
};

}  // namespace tutti::nn::detail::simulation
