// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <concepts>
#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// Hears, while a gradient is computed, how much of the message is final: `completed(first)` says that all numbers from
/// `first` to the end are. It is called again and again, of ever more, and at last with 0.
template <class L>
concept gradient_listener = requires(L& listener, std::size_t first) {
  { listener.completed(first) } -> std::same_as<void>;
};

/// A listener that ignores what it hears.
struct no_listener {
  /// Does nothing.
  void completed(std::size_t) const noexcept {}
};

}  // namespace tutti::nn
