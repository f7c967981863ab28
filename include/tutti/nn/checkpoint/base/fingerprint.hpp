// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/base/number_text.hpp>
#include <tutti/nn/base/augmentation.hpp>
#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/base/settings.hpp>

#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A description of a training, line by line: everything that determines its results except the order in which ranks'
/// values are summed. Checkpoints of trainings with other descriptions are refused.
class fingerprint {
 public:
  /// Adds a named word.
  fingerprint& add(std::string_view name, std::string_view value);
  /// Adds a named integer.
  template <std::integral Number>
  fingerprint& add(std::string_view name, Number value) {
    return add(name, std::to_string(value));
  }
  /// Adds a named number with all of its bits.
  template <std::floating_point Number>
  fingerprint& add(std::string_view name, Number value) {
    return add(name,
               tutti::detail::general_text(static_cast<double>(value), std::numeric_limits<Number>::max_digits10));
  }

  /// Adds all settings.
  fingerprint& add(settings const& s);

  /// Adds a data set. Cost: one pass over the images; a store gives its checksum instead.
  fingerprint& add(std::string_view name, dataset const& data);

  /// The description, as text.
  [[nodiscard]] std::string const& text() const noexcept { return text_; }

  /// The lines in which another training differs from this one: "rate = 0.1 there, 0.2 here; ..."
  /// @returns an empty text if there is no difference
  [[nodiscard]] std::string differences(std::string_view other) const;

 private:
  using line = std::pair<std::string_view, std::string_view>;

  static std::vector<line> lines(std::string_view text);

  std::string text_;
};

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/checkpoint/base/fingerprint.ipp>
#endif
