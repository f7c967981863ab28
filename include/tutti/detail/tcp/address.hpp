// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/tcp_options.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// Where a rank is to listen, port 0. `host` names an interface, or one of its addresses.
/// @throws error(failure::join) if this host has no such, or it stands for several
[[nodiscard]] TUTTI_DECL address listening_address(std::string const& host);

/// The same as the options say, or else the rendezvous.
template <locates_hosts M>
[[nodiscard]] address own_address(M const& meet, tcp_options const& o) {
  if (!o.network_interface.empty()) {
    return listening_address(o.network_interface);
  }
  if constexpr (on_one_host<M>) {
    return listening_address(loopback_host());
  } else {
    return listening_address(meet.local_host());
  }
}

/// What a rank tells the others about itself: "10.0.0.1:41234 0123456789abcdef 0123456789abcdef", and its host.
struct endpoint_info {
  address listening;
  world_id world;
  std::string node;

  /// The card of a rank that listens at `at`. Which world it is rank 0 chooses.
  [[nodiscard]] static endpoint_info local(address const& listening, tcp_options const& o);

  [[nodiscard]] std::string text() const;
  /// @throws error (failure::join)
  [[nodiscard]] static endpoint_info parse(std::string_view text);
};

/// Where all ranks are, and what tells their world from others.
struct directions {
  std::vector<address> addresses;  ///< by rank
  world_id world{};
};

/// What the cards of all ranks, by rank, say to the one that listens at `own`. On every rank it fails or on none, but
/// for connections.
/// @throws error (failure::join) that names a rank which others cannot reach: at a loopback address of another host,
///         or at an address of a link that this host does not know
[[nodiscard]] TUTTI_DECL directions directions_of(std::vector<std::string> const& texts, address const& own_address);

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/address.ipp>
#endif
