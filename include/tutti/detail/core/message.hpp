// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/linkage.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tutti::detail {

/// A part of a message: a text or a number.
class message_part {
 public:
  constexpr message_part(std::string_view text) noexcept : text_(text) {}
  constexpr message_part(char const* text) noexcept : text_(text) {}
  message_part(std::string const& text) noexcept : text_(text) {}
  template <std::integral Number>
  constexpr message_part(Number number) noexcept
      : whole_(static_cast<std::uint64_t>(number)),
        kind_(std::signed_integral<Number> ? kind::negatable : kind::whole) {}
  template <std::floating_point Number>
  constexpr message_part(Number number) noexcept : real_(static_cast<double>(number)), kind_(kind::real) {}

  [[gnu::cold]] void append_to(std::string& text) const;

 private:
  enum class kind : char { text, negatable, whole, real };

  std::string_view text_;
  std::uint64_t whole_ = 0;
  double real_ = 0;
  kind kind_ = kind::text;
};

using message_parts = std::initializer_list<message_part>;

/// The parts as one text: `message({"rank ", rank, " is gone"})`. For what every unit of a header-only program
/// compiles, the errors of operations: it takes less code than as many `+`.
[[nodiscard, gnu::cold]] TUTTI_DECL std::string message(message_parts parts);
[[gnu::cold]] TUTTI_DECL void append(std::string& text, message_parts parts);

}  // namespace tutti::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/impl/core/message.ipp>
#endif
