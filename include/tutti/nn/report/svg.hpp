// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/base/usage.hpp>

#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// What a picture of a training says of it in words.
struct plot_words {
  std::string title{};                       ///< what stands above it
  std::string below{};                       ///< the title, such as data and model
  std::string images = "all ranks' images";  ///< what loss and accuracy of the training are of
  std::string bytes = "rank 0";              ///< the rank that sent and received them
};

/// A picture, as SVG, of loss, accuracy, images per second and, if they were counted, bytes over time: of the
/// training as means over neighbouring steps, of the test after each epoch; bytes since it began. Faults are
/// upright lines. Below are rows of what ranks did over time, in shares of it and bytes a second, if `ranks` has them.
/// @pre at least one step was made, or one epoch; ranks' spans are of one length
[[nodiscard]] TUTTI_DECL std::string plot_svg(history const& history, plot_words const& words,
                                              std::vector<usage> const& ranks = {});

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/report/svg.ipp>
#endif
