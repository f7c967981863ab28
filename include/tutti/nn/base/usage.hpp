// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/time.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// What a rank did in a span of time. It waited for the rest of the seconds: for messages, or for its turn.
struct usage_bin {
  double seconds = 0;            ///< of the training, in this span
  double computing = 0;          ///< seconds of gradients and tests
  double updating = 0;           ///< seconds of an optimizer, or of serving workers
  double sent = 0;               ///< bytes
  double received = 0;           ///< bytes
  double messages_sent = 0;      ///< begun in it
  double messages_received = 0;  ///< whose first bytes came in it
  double resident = 0;           ///< bytes of the process' memory, at most

  /// Adds a part of another one; of memory the more.
  void add(usage_bin const& other, double share) noexcept;
};

/// What a rank did over time, in spans of one length.
struct usage {
  std::string role{};             ///< such as "worker 2"
  double width = 0;               ///< seconds
  std::vector<usage_bin> bins{};  ///< the first one begins with the training
  double shift = 0;               ///< seconds that the rank began later than that

  /// All of it.
  [[nodiscard]] TUTTI_DECL usage_bin sum() const;
  /// In spans of that length from the beginning of the training on: what lies across a border is divided.
  [[nodiscard]] TUTTI_DECL usage in_spans_of(double seconds) const;

  /// As numbers, to be sent; without the role.
  [[nodiscard]] TUTTI_DECL std::vector<double> packed() const;
  /// Of these numbers.
  [[nodiscard]] static TUTTI_DECL usage unpacked(std::span<double const> numbers);
};

/// Ranks in spans of one length: of the longest.
TUTTI_DECL void align(std::vector<usage>& ranks);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/base/usage.ipp>
#endif
