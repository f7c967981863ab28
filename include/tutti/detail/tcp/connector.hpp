// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/tcp/connect_attempt.hpp>
#include <tutti/detail/tcp/endpoint_info.hpp>
#include <tutti/detail/tcp/hello_prover.hpp>
#include <tutti/detail/tcp/listener.hpp>
#include <tutti/detail/tcp/wire.hpp>
#include <tutti/extend/error.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// Makes the connections of one rank: connects to peers, and accepts theirs.
///
///     rank a < b       a                       b                  both connect
///                      |------ connect ------>|
///                      |<----- connect -------|
///                      |----- collision ----->|   b waits for a's connection
///                      |<----- welcome -------|   connected
///
/// A rank that waits for its peer's connection connects again after `tcp_options::handshake`: the peer may be gone.
///
/// In a world with a secret, `b` waits for a's confirmation (`hello_prover`), which the messages of `a` follow at once:
///
///          a                       b
///          |------ connect ------>|
///          |<----- welcome -------|   b drops its own try: a does not take its answer any more
///          |--- confirmation ---->|   connected
///
/// Until then `b` keeps the connection, and copies of the request, apart. It does not connect itself for
/// `tcp_options::handshake`, and does so afterwards: a program that repeats a request holds nothing up for ever. The
/// connection of a rank that confirms later, after a long computation, is still taken.
class connector final : private listener::handler {
 public:
  /// The receiver of results.
  class handler {
   public:
    /// Takes a new connection, ready for use.
    virtual void add_connection(rank_type peer, wire bytes, hello const& peer_hello) = 0;
    /// True if there is a connection to the peer.
    [[nodiscard]] virtual bool is_connected(rank_type peer) const noexcept = 0;
    /// Reports that the peer is gone, or was never reachable. `code` is the errno, or 0.
    virtual void lose(rank_type peer, failure kind, int code) = 0;
    /// Takes a fault that a peer tells.
    virtual void receive_fault(tutti::fault const& reason) = 0;
    /// Takes the reason of a peer that leaves: a fault elsewhere.
    virtual void receive_excuse(rank_type peer, tutti::fault const& reason) = 0;
    /// The fault of this epoch, which each hello carries.
    [[nodiscard]] virtual tutti::fault const& fault() const noexcept = 0;

   protected:
    ~handler() = default;
  };

  connector(tcp_options const& options, address const& at, rank_type rank, rank_type size, waiter& event_waiter,
            handler& target);
  connector(connector const&) = delete;
  connector& operator=(connector const&) = delete;

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(attempts_.size()); }
  [[nodiscard]] address listening_address() const noexcept { return listener_.listening_address(); }
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return incidents_; }

  /// Sets the addresses of all ranks, before the first connection.
  void meet(directions world);
  [[nodiscard]] hello_prover& prover() noexcept { return prover_; }
  [[nodiscard]] address const& address_of(rank_type peer) const noexcept { return directions_.addresses[peer]; }

  /// Makes the hello of this rank to another one.
  [[nodiscard]] hello make_hello(hello_kind kind, rank_type peer) const noexcept;

  void record_incident(std::string text);

  /// Starts or continues to connect to a peer.
  void connect(rank_type peer);

  /// The address "10.0.0.2:41234", and the time for which connecting to it has failed.
  [[nodiscard]] std::string describe_address(rank_type peer) const;

  /// True if a connection to the peer is being made.
  [[nodiscard]] bool is_connecting(rank_type peer) const noexcept;
  /// True if a peer that this rank has welcomed has not confirmed yet.
  [[nodiscard]] bool awaits_confirmation() const noexcept { return !unconfirmed_connections_.empty(); }

  /// Continues all attempts, or those whose next try is due.
  void continue_connecting(bool retry_all) {
    for (std::size_t i = 0; i < connecting_.size(); ++i) {
      rank_type const peer = connecting_[i];
      if (retry_all || attempts_[peer]->current_state() == connect_attempt::state::idle) {
        connect(peer);
      }
    }
  }

  /// Accepts some of the waiting connections.
  void accept_connections() { listener_.accept_some(*this); }
  /// Accepts all connections that wait now.
  void accept_all_connections() {
    listener_.accept_all(*this);
    read_confirmations();
  }
  /// Reads a pending connection, whose hello or confirmation is incomplete.
  void read_pending(rank_type descriptor_number);
  /// Reads the confirmations that are there.
  void read_confirmations();

  /// The errno if descriptors or memory are missing for a connection, else 0.
  [[nodiscard]] int resource_error() const noexcept {
    return resource_error_ != 0 ? resource_error_ : listener_.resource_error();
  }

 private:
  static constexpr std::size_t max_incidents = 64;

  /// A connection that this rank has welcomed, and that its sender has not confirmed yet.
  struct unconfirmed_connection {
    descriptor socket;
    hello request;
    hello answer;
    time_point begin;
    proof confirmation{};
    std::size_t received_bytes = 0;
  };

  // Overrides of listener::handler, out of line (compilers.md: Tables of virtual functions).
  TUTTI_DECL char const* arrive(descriptor& socket, hello const& peer_hello) override;
  TUTTI_DECL void refuse(descriptor const& socket, char const* reason) override;

  [[nodiscard]] char const* objection_to(hello const& message) const noexcept;
  [[nodiscard]] bool leaves_it_to(rank_type peer);
  void await_confirmation(descriptor socket, hello const& request, hello const& answer);
  void read_confirmation(std::size_t i);
  void drop_unconfirmed(rank_type peer, std::uint64_t number_limit, char const* reason);
  [[nodiscard]] unconfirmed_connection take_unconfirmed(std::size_t i);
  void refuse(unconfirmed_connection const& connection, char const* reason);
  void establish(descriptor socket, hello const& request, hello const& answer);

  tcp_options const& options_;
  rank_type rank_;
  waiter& waiter_;
  handler& handler_;
  directions directions_;
  hello_prover prover_;
  listener listener_;
  int resource_error_ = 0;
  std::vector<unconfirmed_connection> unconfirmed_connections_;  ///< in order of arrival
  std::vector<owner<connect_attempt>> attempts_;
  std::vector<rank_type> connecting_;  ///< peers without a connection yet
  std::vector<std::string> incidents_;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/connector.ipp>
#endif
