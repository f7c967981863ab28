// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/directory.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::detail {

/// One member of a list of hosts.
struct host_entry {
  std::string role;   ///< "ps:0", "worker:3"; empty if the list gives none
  net::host_port at;  ///< where it listens

  friend bool operator==(host_entry const&, host_entry const&) = default;
};

/// A world that is known in advance: its members in rank order. Rank 0's address is the rendezvous.
template <class Entry>
class basic_host_list {
 public:
  /// Reads "ps:0=node0:7000,worker:0=node1:7000" or "node0:7000,node1:7000": entries in rank order,
  /// one a line or with commas between; what follows a # is a comment. `source` is named in errors.
  /// @throws error(failure::join) that names the line and the entry that is wrong
  explicit basic_host_list(std::string_view text, std::string source = "the list of hosts")
      : source_(std::move(source)) {
    std::size_t line = 1;
    while (!text.empty()) {
      auto const end = text.find('\n');
      std::string_view rest = text.substr(0, end);
      rest = rest.substr(0, rest.find('#'));
      while (!rest.empty()) {
        auto const comma = rest.find(',');
        add(trim(rest.substr(0, comma)), line);
        rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
      }
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
      ++line;
    }
    if (entries_.empty()) {
      throw error(failure::join, source_ + " names no host");
    }
  }

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(entries_.size()); }
  /// @pre rank < size()
  [[nodiscard]] Entry const& operator[](rank_type rank) const noexcept { return entries_[rank]; }
  [[nodiscard]] net::host_port const& master() const noexcept { return entries_.front().at; }

  /// The rank whose host has an address of one of the interfaces `own`, by default those of this host.
  /// @throws error(failure::join) if none has, or several
  [[nodiscard]] rank_type find_self(std::vector<net::interface> const& own = net::interfaces()) const {
    std::vector<rank_type> matching;
    for (rank_type r = 0; r < size(); ++r) {
      if (is_among(entries_[r].at.host, own)) {
        matching.push_back(r);
      }
    }
    if (matching.size() == 1) {
      return matching.front();
    }
    std::string text =
        source_ + (matching.empty() ? " does not name this host (" : " names this host more than once (");
    for (std::size_t i = 0; i < (matching.empty() ? own.size() : matching.size()); ++i) {
      text += i == 0 ? "" : ", ";
      text += matching.empty() ? own[i].at.host() : "entry " + std::to_string(matching[i] + 1);
    }
    throw error(failure::join, text + "); set TUTTI_RANK to say which entry, counted from 0, this process is");
  }

 private:
  [[nodiscard]] static std::string_view trim(std::string_view text) noexcept {
    constexpr std::string_view blank = " \t\r";
    auto const first = text.find_first_not_of(blank);
    return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(blank) - first + 1);
  }

  void add(std::string_view text, std::size_t line) {
    if (text.empty()) {
      return;
    }
    auto const wrong = [&](std::string const& why) {
      throw error(failure::join, source_ + ", line " + std::to_string(line) + ", entry " +
                                     std::to_string(entries_.size() + 1) + " '" + std::string(text) + "': " + why);
    };
    Entry entry;
    auto const equals = text.find('=');
    if (equals != text.npos) {
      entry.role = trim(text.substr(0, equals));
      if (!is_role(entry.role)) {
        wrong("'" + entry.role + "' is no role; write a name, a colon and a number, as in worker:3");
      }
    }
    if (!net::parse(trim(equals == text.npos ? text : text.substr(equals + 1)), entry.at) || entry.at.port == 0) {
      wrong("not host:port, as in node7:7000 or [fe80::1]:7000, with an optional role before it, as in worker:3=");
    }
    for (Entry const& other : entries_) {
      if (other.at == entry.at || (!entry.role.empty() && other.role == entry.role)) {
        wrong("the same " + std::string(other.at == entry.at ? "address" : "role") + " is in the list already");
      }
    }
    entries_.push_back(std::move(entry));
  }

  [[nodiscard]] static bool is_role(std::string_view text) noexcept {
    auto const colon = text.find(':');
    return colon != 0 && colon != text.npos && colon + 1 < text.size() &&
           text.substr(0, colon).find_first_of(" \t[]") == text.npos &&
           text.find_first_not_of("0123456789", colon + 1) == text.npos;
  }

  [[nodiscard]] static bool is_among(std::string const& host, std::vector<net::interface> const& own) {
    try {
      for (net::address const& a : net::resolve(host, 0)) {
        for (net::interface const& o : own) {
          if (a.host() == o.at.host()) {
            return true;
          }
        }
      }
    } catch (error const&) {  // a name that only other hosts know is another host
    }
    return false;
  }

  std::string source_;
  std::vector<Entry> entries_;
};

using host_list = basic_host_list<host_entry>;

/// Reads a list of hosts from a file.
/// @throws error(failure::join)
template <class = void>
[[nodiscard]] host_list read_hosts(std::string const& path) {
  auto const text = read_file(path);
  if (!text) {
    throw error(failure::join, "cannot read the list of hosts '" + path + "': " + describe_errno(errno));
  }
  return host_list(*text, path);
}

}  // namespace tutti::detail
