// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>

#include <initializer_list>
#include <source_location>
#include <stdexcept>
#include <string>

namespace tutti::inline v0_1_0 {

/// A caller's mistake, found by a checked precondition.
class precondition_error : public std::logic_error {
 public:
  /// Constructed by `expects`.
  precondition_error(std::string const& text, std::source_location location)
      : std::logic_error(text), location_(location) {}
  /// The line of the failed check.
  [[nodiscard]] std::source_location location() const noexcept { return location_; }

 private:
  std::source_location location_;
};

/// A condition, and the place of the call of `expects` that checks it. A bool converts to it.
struct checked_condition {
  /// Records the place of the call.
  constexpr checked_condition(bool value, std::source_location place = std::source_location::current()) noexcept
      : holds(value), location(place) {}

  bool holds;                     ///< the condition
  std::source_location location;  ///< the place of the call
};

namespace detail {

/// Throws precondition_error. Out of line, so that a check that holds costs a comparison.
[[noreturn, gnu::cold]] TUTTI_DECL void refuse(std::source_location location, char const* message);
[[noreturn, gnu::cold]] TUTTI_DECL void refuse(std::source_location location, message_parts parts);

}  // namespace detail

/// Throws precondition_error unless the condition holds. The message says what is wrong, with the value, and what to
/// do. Its parts, texts and numbers, are joined only on failure:
///
///     expects(momentum >= 0 && momentum < 1, "sgd: momentum must be in [0, 1), not ", momentum);
///
/// Nothing turns the checks off, so a program behaves alike in all of its translation units.
template <class... Parts>
constexpr void expects(checked_condition condition, char const* message, Parts const&... parts) {
  if (!condition.holds) [[unlikely]] {
    if constexpr (sizeof...(parts) == 0) {
      detail::refuse(condition.location, message);
    } else {
      detail::refuse(condition.location, {detail::message_part(message), detail::message_part(parts)...});
    }
  }
}

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/expects.ipp>
#endif
