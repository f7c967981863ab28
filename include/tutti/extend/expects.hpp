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
  precondition_error(std::string const& what, std::source_location where) : std::logic_error(what), where_(where) {}
  /// The line of the failed check.
  [[nodiscard]] std::source_location where() const noexcept { return where_; }

 private:
  std::source_location where_;
};

/// A condition, and the place of the call of `expects` that checks it. A bool converts to it.
struct checked_condition {
  /// Records the place of the call.
  constexpr checked_condition(bool value, std::source_location place = std::source_location::current()) noexcept
      : holds(value), where(place) {}

  bool holds;                  ///< the condition
  std::source_location where;  ///< the place of the call
};

namespace detail {

/// Throws precondition_error. Out of line, so that a check that holds costs a comparison.
[[noreturn, gnu::cold]] TUTTI_DECL void refuse(std::source_location where, char const* message);
[[noreturn, gnu::cold]] TUTTI_DECL void refuse(std::source_location where, message_parts parts);

}  // namespace detail

/// Throws precondition_error unless the condition holds. The message says what is wrong, with the value, and what to
/// do. Its parts, texts and numbers, are joined only on failure:
///
///     expects(momentum >= 0 && momentum < 1, "sgd: momentum must be in [0, 1), not ", momentum);
///
/// Nothing turns the checks off, so a program behaves alike in all of its translation units.
template <class... Parts>
constexpr void expects(checked_condition what, char const* message, Parts const&... parts) {
  if (!what.holds) [[unlikely]] {
    if constexpr (sizeof...(parts) == 0) {
      detail::refuse(what.where, message);
    } else {
      detail::refuse(what.where, {detail::message_part(message), detail::message_part(parts)...});
    }
  }
}

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/expects.ipp>
#endif
