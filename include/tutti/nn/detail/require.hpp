// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/linkage.hpp>
#include <tutti/expects.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>

namespace tutti::nn::detail {

/// A condition, and the place of the call that it is checked for.
struct condition {
  constexpr condition(bool value, std::source_location place = std::source_location::current()) noexcept
      : holds(value), where(place) {}

  bool holds;
  std::source_location where;
};

/// A part of a message: a text or a number.
class message_part {
 public:
  constexpr message_part(std::string_view text) noexcept : text_(text) {}
  constexpr message_part(char const* text) noexcept : text_(text) {}
  template <std::integral Number>
  constexpr message_part(Number number) noexcept : whole_(static_cast<std::int64_t>(number)), kind_(kind::whole) {}
  template <std::floating_point Number>
  constexpr message_part(Number number) noexcept : real_(static_cast<double>(number)), kind_(kind::real) {}

  void append_to(std::string& text) const;

 private:
  enum class kind : char { text, whole, real };

  std::string_view text_;
  std::int64_t whole_ = 0;
  double real_ = 0;
  kind kind_ = kind::text;
};

[[noreturn, gnu::cold]] TUTTI_DECL void refuse(std::source_location where, std::initializer_list<message_part> parts);

/// As `expects`, with a message of several parts, texts and numbers, which is put together only where it is needed:
///
///     require(momentum >= 0 && momentum < 1, "sgd: momentum must be in [0, 1), not ", momentum);
///
/// @throws precondition_error
template <class... Parts>
constexpr void require(condition what, Parts const&... parts) {
  if (!what.holds) [[unlikely]] {
    refuse(what.where, {message_part(parts)...});
  }
}

}  // namespace tutti::nn::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/impl/core/require.ipp>
#endif
