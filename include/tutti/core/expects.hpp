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

/// What a check costs. `cheap` is always on; `thorough` (reads the data) in debug builds.
enum class check { cheap, thorough };

/// The most expensive check that is compiled in. Define TUTTI_THOROUGH to 0 or 1 to choose;
/// it follows NDEBUG otherwise.
#if defined(TUTTI_THOROUGH)
inline constexpr check checks = TUTTI_THOROUGH ? check::thorough : check::cheap;
#elif defined(NDEBUG)
inline constexpr check checks = check::cheap;
#else
inline constexpr check checks = check::thorough;
#endif

/// Throws precondition_error unless `holds`. The message says what to do about it.
template <check Level = check::cheap>
constexpr void expects(bool holds, char const* message, std::source_location where = std::source_location::current()) {
  if constexpr (Level <= checks) {
    if (!holds) [[unlikely]] {
      throw precondition_error(message, where);
    }
  }
}

}  // namespace tutti
