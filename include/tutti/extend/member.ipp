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

TUTTI_DECL bool decode(std::string_view bytes, member& to) {
  unpacker u(bytes);
  to.host = u.text();
  to.pid = static_cast<std::int64_t>(u.number());
  to.role = u.text();
  return u.is_complete() && !to.host.empty() && to.pid >= 0;
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
