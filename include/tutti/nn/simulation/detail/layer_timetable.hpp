// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/base/parameter_range.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline simulation {

/// Simulates a gradient: time passes as if it were computed, and layers complete in the order of backward. Forward
/// takes a third of the time, backward the rest; each layer's share is that of its products.
///
/// Between two layers the listener is called repeatedly, as by a host whose device computes: this makes progress on
/// communication and delays nothing.
class layer_timetable {
 public:
  /// @param ranges, products parameters and multiplications of the layers, in order
  /// @pre both have one length
  layer_timetable(std::span<parameter_range const> ranges, std::span<double const> products) {
    expects(ranges.size() == products.size(), "simulated speed: there are ", ranges.size(), " layers, and products of ",
            products.size());
    double const total = std::reduce(products.begin(), products.end());
    double progress = total / 2;  // forward is one third; in units of backward, half
    for (std::size_t i = ranges.size(); i-- != 0;) {
      progress += products[i];
      releases_.push_back({ranges[i].offset, progress / (1.5 * total)});
    }
  }

  /// @param numbers size of the gradient buffer
  void run(duration takes, std::size_t numbers, gradient_listener& listener) const {
    time_point const begin = steady_now();
    std::size_t complete = numbers;
    for (auto const& next : releases_) {
      time_point const at =
          begin + duration(static_cast<duration::rep>(next.share * static_cast<double>(takes.count())));
      for (time_point now = steady_now(); now < at; now = steady_now()) {
        listener.on_completion(complete);
        std::this_thread::sleep_for(std::min<duration>(between_looks, at - now));
      }
      complete = next.first;
      listener.on_completion(complete);
    }
  }

 private:
  static constexpr duration between_looks = std::chrono::microseconds(100);

  struct release {
    std::size_t first;  // gradients from here on are complete
    double share;       // share of the time until then
  };

  std::vector<release> releases_;
};

}  // namespace tutti::nn::detail::simulation
