// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/message.hpp>
#include <tutti/member.hpp>

#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0 {

TUTTI_DECL std::string host_name() {
  char text[256] = {};
  return ::gethostname(text, sizeof text - 1) == 0 && text[0] != 0 ? text : "localhost";
}

TUTTI_DECL member this_member(std::string role) {
  return {host_name(), ::getpid(), std::move(role)};
}

namespace detail {

TUTTI_DECL std::string encode(member const& m) {
  return message({m.host, " ", m.pid, " ", m.role});
}

TUTTI_DECL bool decode(std::string_view text, member& to) {
  auto const first = text.find(' ');
  auto const second = first == text.npos ? first : text.find(' ', first + 1);
  if (second == text.npos || first == 0) {
    return false;
  }
  std::string_view const pid = text.substr(first + 1, second - first - 1);
  if (pid.empty() || pid.size() > 18 || pid.find_first_not_of("0123456789") != pid.npos) {
    return false;
  }
  to.pid = 0;
  for (char const c : pid) {
    to.pid = to.pid * 10 + (c - '0');
  }
  to.host = text.substr(0, first);
  to.role = text.substr(second + 1);
  return true;
}

TUTTI_DECL message_part words(member const& m) noexcept {
  return {[](std::string& text, void const* of, std::uint64_t) {
            member const& one = *static_cast<member const*>(of);
            append(text, {one.role, one.role.empty() ? "" : " on ", one.host, ", pid ", one.pid});
          },
          &m};
}

}  // namespace detail

TUTTI_DECL std::string describe(member const& m) {
  return detail::message({detail::words(m)});
}

TUTTI_DECL std::string describe(rank_type rank, member const& m) {
  return detail::message({"rank ", rank, " (", detail::words(m), ")"});
}

}  // namespace tutti
