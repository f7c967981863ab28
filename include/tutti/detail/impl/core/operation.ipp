// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/operation.hpp>

#include <cstring>

namespace tutti {

TUTTI_DECL std::string describe(call const& c, operation_number const& n) {
  auto const bounded = [](char const(&s)[call::text]) { return std::string_view(s, ::strnlen(s, call::text)); };
  std::string out{name(c.kind)};
  if (c.kind == operation_kind::none) {
    return out;
  }
  out += '(';
  if (auto const r = bounded(c.reduction); !r.empty()) {
    out.append(r).append(" ");
  }
  if (auto const e = bounded(c.element); !e.empty() || c.count != 0) {
    out.append(e).append(" x ").append(std::to_string(c.count));
  }
  if (c.root != no_rank) {
    out.append(", root ").append(std::to_string(c.root));
  }
  if (n.is_message()) {
    out.append(out.back() == '(' ? "" : ", ").append("from rank ").append(std::to_string(n.from));
    out.append(" to rank ").append(std::to_string(n.to));
  }
  if (auto const t = bounded(c.topology); !t.empty()) {
    out.append(out.back() == '(' ? "" : ", ").append(t);
  }
  return out + ')';
}

}  // namespace tutti
