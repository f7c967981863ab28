// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/detail/tcp/connect_attempt.hpp>
#include <tutti/detail/tcp/connection.hpp>
#include <tutti/extend/error.hpp>

#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// The fault of an epoch, and how it is spread: over the connections that there are, and by broadcast
/// connections, which are made for nothing else, to peers that cannot be told otherwise.
class fault_broadcast {
 public:
  [[nodiscard]] tutti::fault const& fault() const noexcept { return fault_; }

  /// The first fault takes precedence; true if this is it.
  bool adopt(tutti::fault const& reason) noexcept;

  /// What a peer tells, which may be anything, as a fault among `size` ranks.
  [[nodiscard]] static tutti::fault sanitize(tutti::fault claim, rank_type size) noexcept;

  /// Tells a peer over its connection. False if the peer may never get to read that, for it takes no more, or
  /// the connection is in the middle of a piece that will never be complete: then it takes a broadcast
  /// connection. The system throws away what it has not sent when a connection is closed that has unread bytes.
  [[nodiscard]] bool send(connection& link) const;

  /// Makes a broadcast connection: `greeting` tells the fault to what listens at the address.
  void connect(waiter& w, address const& peer_address, hello const& greeting, tcp_options const& options);
  /// Moves broadcast connections on; those whose greeting has arrived, or cannot, are gone afterwards.
  void advance() {
    if (!connections_.empty()) [[unlikely]] {
      advance_all();
    }
  }
  [[nodiscard]] bool is_complete() const noexcept { return connections_.empty(); }

 private:
  void advance_all();

  tutti::fault fault_;
  std::vector<owned<connect_attempt>> connections_;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/fault_broadcast.ipp>
#endif
