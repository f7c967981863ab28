// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/base/usage.hpp>
#include <tutti/nn/detail/report/plot_panel.hpp>

#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline report {

/// The most rows: one for each rank or, of more ranks, one for each kind.
inline constexpr std::size_t most_usage_rows = 8;

/// A row for each rank: what it did, in shares of the time, and beside it what it sent and received. Of more ranks than
/// there are rows, the mean of those of a role, which is a name less its number.
[[nodiscard]] TUTTI_DECL std::vector<usage> rows_of(std::vector<usage> const& ranks);

inline constexpr char const* usage_colours[] = {"#2f6fb3", "#2e8b57", "#a0a0a0", "#7b4fa3", "#c0392b"};

/// From 0 on, five at most.
[[nodiscard]] TUTTI_DECL std::vector<double> few_ticks(double right);

/// The names of the curves, a line at `top`.
[[nodiscard]] TUTTI_DECL plot_panel usage_legend(double top);

/// The panels of these rows from `top` on, which is moved below them.
[[nodiscard]] TUTTI_DECL std::vector<plot_panel> usage_panels(std::vector<usage> const& ranks,
                                                              std::vector<fault_result> const& faults, double& top);

}  // namespace tutti::nn::detail::report

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/report/usage_panels.ipp>
#endif
