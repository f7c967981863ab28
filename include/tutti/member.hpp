// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/types.hpp>

#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace tutti {

/// What a member tells of itself when it joins, for errors and reports.
struct member {
  std::string host;      ///< the name of its host
  std::int64_t pid = 0;  ///< its process there
  std::string role;      ///< its label in a list of hosts ("ps:0"); mostly empty

  friend bool operator==(member const&, member const&) = default;
};

/// The name of this host, for humans.
[[nodiscard]] inline std::string host_name() {
  char text[256] = {};
  return ::gethostname(text, sizeof text - 1) == 0 && text[0] != 0 ? text : "localhost";
}

/// This process.
[[nodiscard]] inline member this_member(std::string role = {}) {
  return {host_name(), ::getpid(), std::move(role)};
}

/// As a text to exchange: "host pid role".
[[nodiscard]] inline std::string encode(member const& m) {
  return m.host + ' ' + std::to_string(m.pid) + ' ' + m.role;
}

/// Reads what `encode` wrote. False: `text` is something else.
[[nodiscard]] inline bool decode(std::string_view text, member& to) {
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

/// "node7, pid 4242", "worker:3 on node7, pid 4242"
[[nodiscard]] inline std::string describe(member const& m) {
  return (m.role.empty() ? "" : m.role + " on ") + m.host + ", pid " + std::to_string(m.pid);
}

/// "rank 2 (worker:3 on node7, pid 4242)"
[[nodiscard]] inline std::string describe(rank_type rank, member const& m) {
  return "rank " + std::to_string(rank) + " (" + describe(m) + ")";
}

}  // namespace tutti
