// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/tcp_options.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// Returns the address, with port 0, at which a rank listens. `host` is the name or an address of an interface.
/// @throws error(failure::join) if this host has no such interface, or `host` means several
[[nodiscard]] TUTTI_DECL address listening_address(std::string const& host);

/// Returns the listening address that the options name, else that of the rendezvous.
template <locates_hosts M>
[[nodiscard]] address own_address(M const& meet, tcp_options const& options) {
  if (!options.network_interface.empty()) {
    return listening_address(options.network_interface);
  }
  if constexpr (on_one_host<M>) {
    return listening_address(loopback_host());
  } else {
    return listening_address(meet.local_host());
  }
}

/// The endpoint that a rank publishes: "10.0.0.1:41234 81985529216486895 81985529216486895 7 0f3c55a9e1b2d478 - clear
/// node1", that is its address, the two halves of the world's number, the version of the protocol, a random number, the
/// fingerprint of its secret or "-", "clear" or "encrypted", and the identity of its host.
struct endpoint_info {
  address listening;
  world_id world;
  std::uint64_t version = hello::expected_version;
  std::string nonce;        ///< makes the key of each world another
  std::string fingerprint;  ///< equal on ranks with the same secret
  std::string encryption;
  std::string node;

  /// Makes the endpoint of this rank. The world of rank 0 counts.
  [[nodiscard]] static endpoint_info make(address const& listening, tcp_options const& options,
                                          world_secret const& secret);

  [[nodiscard]] std::string text() const;
  /// @throws error (failure::join)
  [[nodiscard]] static endpoint_info parse(std::string_view text);
};

/// Refuses a meeting that returns another text for this rank than the one that it published: its ranks would not agree
/// on their addresses.
/// @throws error (failure::join)
TUTTI_DECL void expect_own_text(std::vector<std::string> const& texts, rank_type me, std::string_view own_text);

/// The addresses of all ranks, and what tells their world from others.
struct directions {
  std::vector<address> addresses;  ///< by rank
  world_id world{};
  proof_key key;  ///< empty without a secret
};

/// Parses the endpoints of all ranks, for the rank that listens at `own_address`. Fails on every rank or on none, but
/// for link-local addresses.
/// @throws error (failure::join) that names a rank with another version, secret or choice of encryption, or one which
/// others cannot reach: at a loopback address of another host, or at an address of a link that this host does not know
[[nodiscard]] TUTTI_DECL directions directions_of(std::vector<std::string> const& texts, address const& own_address,
                                                  world_secret const& secret);

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/endpoint_info.ipp>
#endif
