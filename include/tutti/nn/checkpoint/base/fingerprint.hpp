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
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A description of a training, line by line: everything that determines its results except the order in which ranks'
/// values are summed. A line is fixed, or may change when the training is resumed: the number of epochs and the
/// learning rate. Checkpoints of trainings that differ in a fixed line are refused.
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

  /// Adds a setting that may change when the training is resumed.
  fingerprint& add_changeable(std::string_view name, std::string_view value);

  /// Adds all settings. Epochs, rates and their schedule, weight decay, trust, clipping and smoothing may change.
  fingerprint& add(settings const& s);

  /// Adds a data set. Cost: one pass over the images; a store gives its checksum instead.
  fingerprint& add(std::string_view name, dataset const& data);

  /// The description, as text.
  [[nodiscard]] std::string const& text() const noexcept { return text_; }

  /// The fixed lines in which another training differs from this one: "batch = 128 there, 64 here; ..."
  /// @returns an empty text if there is no difference
  [[nodiscard]] std::string differences(std::string_view other) const;
  /// The changes of other lines, from another training to this one: "epochs 5 -> 8; rate 0.1 -> 0.01".
  /// @returns an empty text if there is none
  [[nodiscard]] std::string changes(std::string_view other) const;

 private:
  struct line {
    std::string_view name;
    std::string_view value;
    bool is_fixed;
  };

  static std::vector<line> lines(std::string_view text);

  std::string text_;
};

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/checkpoint/base/fingerprint.ipp>
#endif
