// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/extend/types.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// One member of a list of hosts.
struct host_entry {
  std::string role;  ///< "ps:0", "worker:3"; empty if the list gives none
  host_port at;      ///< the address at which the member listens

  friend bool operator==(host_entry const&, host_entry const&) = default;
};

/// A world that is known in advance: its members in rank order. Rank 0's address is the rendezvous.
class host_list {
 public:
  /// Reads "ps:0=node0:7000,worker:0=node1:7000" or "node0:7000,node1:7000": entries in rank order, separated by
  /// commas or newlines; a # begins a comment. Errors name `source`.
  /// @throws error(failure::join) that names the line and the entry that is wrong
  explicit host_list(std::string_view text, std::string source = "the list of hosts");

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(entries_.size()); }
  /// @pre rank < size()
  [[nodiscard]] host_entry const& operator[](rank_type rank) const noexcept { return entries_[rank]; }
  [[nodiscard]] host_port const& master() const noexcept { return entries_.front().at; }

  /// The rank whose host has an address of one of `interfaces`, by default those of this host.
  /// @throws error(failure::join) if none or several have
  [[nodiscard]] rank_type find_self(std::vector<net::network_interface> const& interfaces = net::interfaces()) const;

 private:
  void add(std::string_view text, std::size_t line);

  std::string source_;
  std::vector<host_entry> entries_;
};

/// Reads a list of hosts from a file.
/// @throws error(failure::join)
[[nodiscard]] TUTTI_DECL host_list read_hosts(std::string const& path);

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/hosts.ipp>
#endif
