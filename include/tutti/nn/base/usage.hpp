// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/time.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The activity of a rank in a span of time. In the rest of the seconds it waited for messages or for its turn.
struct usage_bin {
  double seconds = 0;            ///< length of the span within the training
  double computing = 0;          ///< seconds of gradients and tests
  double updating = 0;           ///< seconds of an optimizer, or of serving workers
  double bytes_sent = 0;         ///< bytes
  double bytes_received = 0;     ///< bytes
  double messages_sent = 0;      ///< messages begun in the span
  double messages_received = 0;  ///< messages whose first bytes arrived in the span
  double resident = 0;           ///< largest memory of the process, in bytes

  /// Adds a share of another bin; memory becomes the maximum.
  void add(usage_bin const& other, double share) noexcept;
};

/// The activity of a rank over time, in spans of equal length.
struct usage {
  std::string role{};             ///< role of the rank, such as "worker 2"
  double width = 0;               ///< length of a span in seconds
  std::vector<usage_bin> bins{};  ///< activity in each span; the first begins with the rank's training
  double shift = 0;               ///< seconds between the beginning of the training and that of the first span

  /// The sum over all spans.
  [[nodiscard]] TUTTI_DECL usage_bin sum() const;
  /// The usage in spans of this length from the beginning of the training; a span across a border is divided.
  [[nodiscard]] TUTTI_DECL usage in_spans_of(double seconds) const;

  /// The usage as numbers for sending, without the role.
  [[nodiscard]] TUTTI_DECL std::vector<double> to_numbers() const;
  /// The usage in the numbers of `to_numbers`.
  [[nodiscard]] static TUTTI_DECL usage from_numbers(std::span<double const> numbers);
};

/// Gives all ranks spans of one length, the longest.
TUTTI_DECL void align(std::vector<usage>& ranks);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/base/usage.ipp>
#endif
