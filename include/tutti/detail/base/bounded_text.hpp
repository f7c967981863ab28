// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline base {

/// Copies as much of a text as fits before a zero: without a part of a UTF-8 character, and with a space for each
/// control character. The rest of the array is zeros. Async-signal-safe.
template <std::size_t N>
constexpr void copy_bounded(std::string_view source, char (&target)[N]) noexcept {
  std::size_t length = source.size();
  if (length >= N) {
    length = N - 1;
    while (length != 0 && (static_cast<unsigned char>(source[length]) & 0xc0U) == 0x80) {
      --length;
    }
  }
  for (std::size_t i = 0; i != N; ++i) {
    char const c = i < length ? source[i] : '\0';
    target[i] = i < length && static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
}

/// The text before the first zero of an array, or all of it.
template <std::size_t N>
[[nodiscard]] constexpr std::string_view bounded_text(char const (&source)[N]) noexcept {
  std::string_view const text(source, N);
  return text.substr(0, text.find('\0'));
}

}  // namespace tutti::detail::base
