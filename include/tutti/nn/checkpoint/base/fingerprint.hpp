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

/// What a training is, line by line: all that decides its numbers but for the order in which ranks add them up. A
/// checkpoint of another one is of no use to it.
class fingerprint {
 public:
  /// Adds a word of what determines a training.
  fingerprint& add(std::string_view name, std::string_view value);
  /// Adds a number.
  template <std::integral Number>
  fingerprint& add(std::string_view name, Number value) {
    return add(name, std::to_string(value));
  }
  /// With all of its bits.
  template <std::floating_point Number>
  fingerprint& add(std::string_view name, Number value) {
    return add(name,
               tutti::detail::general_text(static_cast<double>(value), std::numeric_limits<Number>::max_digits10));
  }

  /// Adds all settings.
  fingerprint& add(settings const& s);

  /// Cost: one pass over the images.
  fingerprint& add(std::string_view name, dataset const& data);

  /// All that has been added, in words.
  [[nodiscard]] std::string const& text() const noexcept { return text_; }

  /// In which lines another training differs from this one: "rate = 0.1 there, 0.2 here; ..."
  /// @returns an empty text if in none
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
