// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/base/message.hpp>
#include <tutti/detail/base/number_text.hpp>

#include <bit>

namespace tutti::inline v0_1_0::detail::inline base {

TUTTI_DECL void message_part::append_text(std::string& text, void const* data, std::uint64_t number) {
  text.append(static_cast<char const*>(data), integer_cast<std::size_t>(number));
}

TUTTI_DECL void message_part::append_negatable(std::string& text, void const*, std::uint64_t number) {
  bool const negative = static_cast<std::int64_t>(number) < 0;
  if (negative) {
    append_text(text, "-", 1);
  }
  append_whole(text, nullptr, negative ? 0 - number : number);
}

TUTTI_DECL void message_part::append_whole(std::string& text, void const*, std::uint64_t number) {
  char digits[20];
  char* const end = digits + sizeof digits;
  char* begin = end;
  do {
    *--begin = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  append_text(text, begin, static_cast<std::size_t>(end - begin));
}

TUTTI_DECL void message_part::append_real(std::string& text, void const*, std::uint64_t number) {
  text += general_text(std::bit_cast<double>(number));
}

TUTTI_DECL void append(std::string& text, message_parts parts) {
  for (message_part const& part : parts) {
    part.append_to(text);
  }
}

TUTTI_DECL std::string message(message_parts parts) {
  std::string text;
  append(text, parts);
  return text;
}

}  // namespace tutti::detail::base
