// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <stdexcept>

namespace tutti {

/// A caller's mistake, found by a checked precondition.
class precondition_error : public std::logic_error {
 public:
  precondition_error(char const* what, std::source_location where) : std::logic_error(what), where_(where) {}
  [[nodiscard]] std::source_location where() const noexcept { return where_; }

 private:
  std::source_location where_;
};

/// What a check does that fails: kept out of the functions that check.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_call(char const* message, std::source_location where) {
  throw precondition_error(message, where);
}

/// Throws precondition_error unless `holds`. The message says what to do about it. Nothing turns this off: a program
/// has one answer, however each of its units was compiled.
constexpr void expects(bool holds, char const* message, std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]] {
    refuse_call(message, where);
  }
}

}  // namespace tutti
