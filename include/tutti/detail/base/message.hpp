// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline base {

/// A part of a message: a text, a number, or a function that appends text.
class message_part {
 public:
  /// Appends a part that is described by two words.
  using appender = void (*)(std::string& text, void const* data, std::uint64_t number);

  constexpr message_part(appender append, void const* data, std::uint64_t number = 0) noexcept
      : append_(append), data_(data), number_(number) {}
  constexpr message_part(std::string_view text) noexcept : message_part(append_text, text.data(), text.size()) {}
  constexpr message_part(char const* text) noexcept : message_part(std::string_view(text)) {}
  message_part(std::string const& text) noexcept : message_part(std::string_view(text)) {}
  template <std::integral Number>
    requires(sizeof(Number) <= sizeof(std::uint64_t))
  constexpr message_part(Number number) noexcept
      : message_part(std::signed_integral<Number> ? append_negatable : append_whole, nullptr,
                     static_cast<std::uint64_t>(number)) {}
  template <std::floating_point Number>
  constexpr message_part(Number number) noexcept
      : message_part(append_real, nullptr, std::bit_cast<std::uint64_t>(static_cast<double>(number))) {}

  void append_to(std::string& text) const { append_(text, data_, number_); }

 private:
  [[gnu::cold]] TUTTI_DECL static void append_text(std::string& text, void const* data, std::uint64_t number);
  [[gnu::cold]] TUTTI_DECL static void append_negatable(std::string& text, void const* data, std::uint64_t number);
  [[gnu::cold]] TUTTI_DECL static void append_whole(std::string& text, void const* data, std::uint64_t number);
  [[gnu::cold]] TUTTI_DECL static void append_real(std::string& text, void const* data, std::uint64_t number);

  appender append_;
  void const* data_;
  std::uint64_t number_;
};

using message_parts = std::initializer_list<message_part>;

/// Joins parts to one text: `message({"rank ", rank, " is gone"})`. For the errors of operations, which every unit of a
/// header-only program compiles: less code than a chain of `+`.
[[nodiscard, gnu::cold]] TUTTI_DECL std::string message(message_parts parts);
[[gnu::cold]] TUTTI_DECL void append(std::string& text, message_parts parts);

}  // namespace tutti::detail::base

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/base/message.ipp>
#endif
