// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/base/usage.hpp>
#include <tutti/nn/detail/report/plot_panel.hpp>

#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline report {

/// The largest number of rows: one for each rank or, with more ranks, one for each role.
inline constexpr std::size_t most_usage_rows = 8;

/// The rows of a plot: one for each rank, with its activity as shares of the time, and its traffic. With more ranks
/// than rows, a row shows the mean of the ranks of a role, which is a name without its number.
[[nodiscard]] TUTTI_DECL std::vector<usage> rows_of(std::vector<usage> const& ranks);

inline constexpr char const* usage_colours[] = {"#2f6fb3", "#2e8b57", "#a0a0a0", "#7b4fa3", "#c0392b"};

/// At most five ticks, from 0.
[[nodiscard]] TUTTI_DECL std::vector<double> few_ticks(double right);

/// The names of the curves, in a line at `top`.
[[nodiscard]] TUTTI_DECL plot_panel usage_legend(double top);

/// The panels of these rows, beginning at `top`, which is then below them.
[[nodiscard]] TUTTI_DECL std::vector<plot_panel> usage_panels(std::vector<usage> const& ranks,
                                                              std::vector<fault_result> const& faults, double& top);

}  // namespace tutti::nn::detail::report

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/report/usage_panels.ipp>
#endif
