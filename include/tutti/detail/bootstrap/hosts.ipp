// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/directory.hpp>
#include <tutti/detail/bootstrap/hosts.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/extend/error.hpp>

#include <cerrno>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// Parsing of the entries of a host list.
struct host_entry_text {
  [[nodiscard]] static std::string_view trim(std::string_view text) noexcept {
    constexpr std::string_view blank = " \t\r";
    auto const first = text.find_first_not_of(blank);
    return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(blank) - first + 1);
  }

  [[nodiscard]] static bool is_role(std::string_view text) noexcept {
    auto const colon = text.find(':');
    return colon != 0 && colon != text.npos && colon + 1 < text.size() &&
           text.substr(0, colon).find_first_of(" \t[]") == text.npos &&
           text.find_first_not_of("0123456789", colon + 1) == text.npos;
  }

  /// True if one of these interfaces has an address of the host.
  [[nodiscard]] static bool is_among(std::string const& host, std::vector<net::network_interface> const& interfaces) {
    try {
      for (net::address const& address : net::resolve(host, 0)) {
        for (net::network_interface const& local : interfaces) {
          if (address.host() == local.at.host()) {
            return true;
          }
        }
      }
    } catch (error const&) {  // a name that only other hosts can resolve is not this host's
    }
    return false;
  }
};

TUTTI_DECL host_list::host_list(std::string_view text, std::string source) : source_(std::move(source)) {
  std::size_t line = 1;
  while (!text.empty()) {
    auto const end = text.find('\n');
    std::string_view rest = text.substr(0, end);
    rest = rest.substr(0, rest.find('#'));
    while (!rest.empty()) {
      auto const comma = rest.find(',');
      add(host_entry_text::trim(rest.substr(0, comma)), line);
      rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
    }
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    ++line;
  }
  if (entries_.empty()) {
    throw error(failure::join, source_ + " names no host; write one a line, as in node7:7000");
  }
}

TUTTI_DECL rank_type host_list::find_self(std::vector<net::network_interface> const& interfaces) const {
  std::vector<rank_type> matching;
  for (rank_type r = 0; r < size(); ++r) {
    if (host_entry_text::is_among(entries_[r].at.host, interfaces)) {
      matching.push_back(r);
    }
  }
  if (matching.size() == 1) {
    return matching.front();
  }
  std::string text = source_ + (matching.empty() ? " does not name this host (" : " names this host more than once (");
  for (std::size_t i = 0; i < (matching.empty() ? interfaces.size() : matching.size()); ++i) {
    text += i == 0 ? "" : ", ";
    text += matching.empty() ? interfaces[i].at.host() : "entry " + std::to_string(matching[i] + 1);
  }
  throw error(failure::join, text + "); set TUTTI_RANK to say which entry, counted from 0, this process is");
}

TUTTI_DECL void host_list::add(std::string_view text, std::size_t line) {
  if (text.empty()) {
    return;
  }
  auto const fail = [&](std::string const& reason) {
    throw error(failure::join, source_ + ", line " + std::to_string(line) + ", entry " +
                                   std::to_string(entries_.size() + 1) + " '" + std::string(text) + "': " + reason);
  };
  host_entry entry;
  auto const equals = text.find('=');
  if (equals != text.npos) {
    entry.role = host_entry_text::trim(text.substr(0, equals));
    if (!host_entry_text::is_role(entry.role)) {
      fail("'" + entry.role + "' is not a role; write a name, a colon and a number, as in worker:3");
    }
  }
  if (!net::parse(host_entry_text::trim(equals == text.npos ? text : text.substr(equals + 1)), entry.at) ||
      entry.at.port == 0) {
    fail("not host:port, as in node7:7000 or [fe80::1]:7000, with an optional role before it, as in worker:3=");
  }
  for (host_entry const& other : entries_) {
    if (other.at == entry.at || (!entry.role.empty() && other.role == entry.role)) {
      fail("the same " + std::string(other.at == entry.at ? "address" : "role") +
           " is in the list already; name each once");
    }
  }
  entries_.push_back(std::move(entry));
}

TUTTI_DECL host_list read_hosts(std::string const& path) {
  auto const text = read_file(path, 1U << 24U);
  if (!text) {
    throw error(failure::join, "cannot read the list of hosts '" + path + "': " + describe_errno(errno) +
                                   "; TUTTI_HOSTS is file:PATH, or the list itself");
  }
  return host_list(*text, path);
}

}  // namespace tutti::detail::bootstrap
