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

/// A gradient that takes time and is not computed: its layers are complete one after another, as backward has them.
/// Forward takes a third of the time, backward the rest, and each layer as much of it as it has products.
///
/// Between two layers the listener is told again and again what is complete, as by a host whose device computes: what
/// is on its way moves on, and makes nothing later.
class layer_timetable {
 public:
  /// @param ranges, products of the layers, in their order
  /// @pre as many of both
  layer_timetable(std::span<parameter_range const> ranges, std::span<double const> products) {
    expects(ranges.size() == products.size(), "simulated speed: there are ", ranges.size(), " layers, and products of ",
            products.size());
    double const all = std::reduce(products.begin(), products.end());
    double done = all / 2;  // backward is two thirds
    for (std::size_t i = ranges.size(); i-- != 0;) {
      done += products[i];
      releases_.push_back({ranges[i].offset, done / (1.5 * all)});
    }
  }

  /// @param numbers of the message
  void run(duration takes, std::size_t numbers, gradient_listener& listener) const {
    time_point const begin = steady_now();
    std::size_t complete = numbers;
    for (auto const& next : releases_) {
      time_point const at =
          begin + duration(static_cast<duration::rep>(next.share * static_cast<double>(takes.count())));
      for (time_point now = steady_now(); now < at; now = steady_now()) {
        listener.completed(complete);
        std::this_thread::sleep_for(std::min<duration>(between_looks, at - now));
      }
      complete = next.first;
      listener.completed(complete);
    }
  }

 private:
  static constexpr duration between_looks = std::chrono::microseconds(100);

  struct release {
    std::size_t first;  // all parameters from this one on have their gradients
    double share;       // of the time
  };

  std::vector<release> releases_;
};

}  // namespace tutti::nn::detail::simulation
