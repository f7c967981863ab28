// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/extend/member.hpp>
#include <tutti/extend/packing.hpp>

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
  return packer().text(m.host).number(static_cast<std::uint64_t>(m.pid)).text(m.role).take();
}

TUTTI_DECL bool decode(std::string_view bytes, member& result) {
  unpacker u(bytes);
  result.host = u.text();
  result.pid = static_cast<std::int64_t>(u.number());
  result.role = u.text();
  return u.is_complete() && !result.host.empty() && result.pid >= 0;
}

TUTTI_DECL message_part words(member const& m) noexcept {
  return {[](std::string& text, void const* object, std::uint64_t) {
            member const& value = *static_cast<member const*>(object);
            append(text, {value.role, value.role.empty() ? "" : " on ", value.host, ", pid ", value.pid});
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
