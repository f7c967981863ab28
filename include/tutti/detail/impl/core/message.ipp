// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/message.hpp>

#include <cstdio>

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

TUTTI_DECL void append(std::string& text, message_parts parts) {
  for (message_part const& one : parts) {
    one.append_to(text);
  }
}

TUTTI_DECL std::string message(message_parts parts) {
  std::string text;
  append(text, parts);
  return text;
}

}  // namespace tutti::detail
