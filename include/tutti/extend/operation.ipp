// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/extend/operation.hpp>

#include <cstring>

namespace tutti::inline v0_1_0 {

namespace detail {

TUTTI_DECL void append_call(std::string& text, labelled_call const& c, operation_number const& n) {
  auto const bounded_text = []<std::size_t Size>(char const(&s)[Size]) {
    return std::string_view(s, ::strnlen(s, Size));
  };
  auto const comma = [&] { return text.back() == '(' ? "" : ", "; };
  append(text, {name(c.kind)});
  if (c.label[0] != 0) {
    append(text, {" '", std::string_view(c.label), "' "});
  }
  if (c.kind == operation_kind::none) {
    return;
  }
  std::string_view const r = bounded_text(c.reduction);
  append(text, {"(", r, r.empty() ? "" : " "});
  if (c.element[0] != 0 || c.count != 0) {
    append(text, {bounded_text(c.element)});
  }
  if (c.kind == operation_kind::alltoall && c.partition != 0) {
    append(text, {" in blocks of any lengths"});
  } else if (c.element[0] != 0 || c.count != 0) {
    append(text, {" x ", c.count});
  }
  if (c.kind != operation_kind::alltoall && c.partition != 0) {
    constexpr char digits[] = "0123456789abcdef";
    char const hex[] = {digits[c.partition >> 12], digits[c.partition >> 8 & 15], digits[c.partition >> 4 & 15],
                        digits[c.partition & 15]};
    append(text, {" in partition ", std::string_view(hex, sizeof hex)});
  }
  if (c.root != no_rank) {
    append(text, {", root ", c.root});
  }
  if (n.is_message()) {
    append(text, {comma(), "from rank ", n.sender, " to rank ", n.receiver});
  }
  if (c.topology[0] != 0) {
    append(text, {comma(), bounded_text(c.topology)});
  }
  append(text, {")"});
}

}  // namespace detail

TUTTI_DECL std::string describe(labelled_call const& c, operation_number const& n) {
  std::string text;
  detail::append_call(text, c, n);
  return text;
}

}  // namespace tutti
