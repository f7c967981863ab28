// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/detail/report/plot_panel.hpp>

#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline report {

/// The throughput of steps [first, last). Each begins at the end of the previous one; 0 if there is no previous step
/// in the same epoch, because tests separate epochs. Steps that are missing between two count like the second one.
[[nodiscard]] TUTTI_DECL double images_per_second(std::vector<step_result> const& steps, std::size_t first,
                                                  std::size_t last);

/// The largest y of a curve; 0 if there is no point.
[[nodiscard]] TUTTI_DECL double highest(std::vector<plot_point> const& points);

/// A unit in which the largest number has few digits.
struct plot_unit {
  double size;
  char const* name;
};
[[nodiscard]] TUTTI_DECL plot_unit unit_of_time(double seconds);
[[nodiscard]] TUTTI_DECL plot_unit unit_of_bytes(double bytes);

TUTTI_DECL void divide(std::vector<plot_point>& points, double x, double y);

/// The curves of a training, over seconds.
struct training_curves {
  explicit training_curves(history const& history);

  std::vector<plot_point> loss;
  std::vector<plot_point> accuracy;
  std::vector<plot_point> throughput;
  std::vector<plot_point> sent_bytes;
  std::vector<plot_point> received_bytes;
  std::vector<plot_point> test_loss;
  std::vector<plot_point> test_accuracy;
};

}  // namespace tutti::nn::detail::report

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/report/training_curves.ipp>
#endif
