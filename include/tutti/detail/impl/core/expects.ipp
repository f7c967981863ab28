// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/expects.hpp>

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <source_location>
#include <string>

namespace tutti::detail {

TUTTI_DECL void message_part::append_to(std::string& text) const {
  char digits[32] = "";
  switch (kind_) {
    case kind::text:
      text += text_;
      return;
    case kind::negatable:
      text += std::to_string(static_cast<std::int64_t>(whole_));
      return;
    case kind::whole:
      text += std::to_string(whole_);
      return;
    case kind::real:
      std::snprintf(digits, sizeof digits, "%g", real_);
      text += digits;
      return;
  }
}

TUTTI_DECL void refuse(std::source_location where, char const* message) {
  throw precondition_error(message, where);
}

TUTTI_DECL void refuse(std::source_location where, std::initializer_list<message_part> parts) {
  std::string text;
  for (auto const& one : parts) {
    one.append_to(text);
  }
  throw precondition_error(text, where);
}

}  // namespace tutti::detail
