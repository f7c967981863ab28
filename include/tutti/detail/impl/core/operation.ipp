// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/message.hpp>
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
    detail::append(out, {r, " "});
  }
  if (auto const e = bounded(c.element); !e.empty() || c.count != 0) {
    detail::append(out, {e, " x ", c.count});
  }
  if (c.root != no_rank) {
    detail::append(out, {", root ", c.root});
  }
  if (n.is_message()) {
    detail::append(out, {out.back() == '(' ? "" : ", ", "from rank ", n.from, " to rank ", n.to});
  }
  if (auto const t = bounded(c.topology); !t.empty()) {
    detail::append(out, {out.back() == '(' ? "" : ", ", t});
  }
  return out + ')';
}

}  // namespace tutti
