// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/base/usage.hpp>

#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The words in a plot of a training.
struct plot_words {
  std::string title{};                       ///< title above the plot
  std::string subtitle{};                    ///< line below the title, such as data and model
  std::string images = "all ranks' images";  ///< images behind the training's loss and accuracy
  std::string bytes = "rank 0";              ///< rank whose bytes are shown
};

/// Plots, as SVG, loss, accuracy, images per second and, if counted, bytes over time: for the training as means over
/// neighbouring steps, for the test after each epoch, bytes since the beginning. Faults are vertical lines. If
/// `ranks` is not empty, rows below show the ranks' activities over time, in shares of it and bytes a second.
/// @pre at least one step or one epoch; the ranks' spans have one length
[[nodiscard]] TUTTI_DECL std::string plot_svg(history const& history, plot_words const& words,
                                              std::vector<usage> const& ranks = {});

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/report/svg.ipp>
#endif
