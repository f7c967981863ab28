// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/tcp/connect_attempt.hpp>
#include <tutti/detail/tcp/connection.hpp>
#include <tutti/extend/error.hpp>

#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// The fault of an epoch, and its broadcast: over existing connections, and by broadcast connections, which carry
/// nothing else, to peers that cannot be told otherwise.
class fault_broadcast {
 public:
  [[nodiscard]] tutti::fault const& fault() const noexcept { return fault_; }

  /// Adopts the first fault. Returns true if this is it.
  bool adopt(tutti::fault const& reason) noexcept;

  /// Returns a fault received from a peer with its ranks and kind made valid.
  [[nodiscard]] static tutti::fault sanitize(tutti::fault claim, rank_type size) noexcept;

  /// Sends the fault over a connection. Returns false if the peer may never read it, because the system takes no more
  /// bytes or a piece will never be complete; a broadcast connection must carry it. A closed socket with unread bytes
  /// discards what was not sent.
  [[nodiscard]] bool send(connection& link) const;

  /// Starts a broadcast connection: sends `request`, which carries the fault, to a listener.
  void connect(waiter& event_waiter, address const& peer_address, hello const& request, hello_prover& prover,
               tcp_options const& options);
  /// Advances broadcast connections, and drops a connection that has delivered its hello or failed.
  void advance() {
    if (!connections_.empty()) [[unlikely]] {
      advance_all();
    }
  }
  [[nodiscard]] bool is_complete() const noexcept { return connections_.empty(); }

 private:
  void advance_all();

  tutti::fault fault_;
  std::vector<owner<connect_attempt>> connections_;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/fault_broadcast.ipp>
#endif
