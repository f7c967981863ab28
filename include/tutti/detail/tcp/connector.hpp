// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/detail/tcp/address.hpp>
#include <tutti/detail/tcp/connect_attempt.hpp>
#include <tutti/detail/tcp/listener.hpp>
#include <tutti/extend/error.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// Makes the connections of one rank: calls peers, and answers those that call.
///
/// If both do at the same time, the connection of the lower rank stays: the higher one gives its own up when the
/// other's arrives; the lower one answers that they crossed.
class connector final : private listener::visitor {
 public:
  /// Is told what comes of it.
  class observer {
   public:
    /// There is a connection; it is prepared for use.
    virtual void add_connection(rank_type peer, descriptor socket, hello const& peer_hello) = 0;
    /// Whether there is one already.
    [[nodiscard]] virtual bool is_connected(rank_type peer) const noexcept = 0;
    /// The peer is gone, or else it could never be reached. `code` is the errno that says so, or 0.
    virtual void lose(rank_type peer, failure kind, int code) = 0;
    /// A peer tells of a fault.
    virtual void receive_fault(tutti::fault const& reason) = 0;
    /// A peer leaves because of a fault elsewhere.
    virtual void receive_excuse(rank_type peer, tutti::fault const& reason) = 0;
    /// The fault that is known here, which greetings tell.
    [[nodiscard]] virtual tutti::fault const& fault() const noexcept = 0;

   protected:
    ~observer() = default;
  };

  connector(tcp_options const& options, address const& at, rank_type rank, rank_type size, waiter& w,
            observer& watcher);
  connector(connector const&) = delete;
  connector& operator=(connector const&) = delete;

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(attempts_.size()); }
  [[nodiscard]] address listening_address() const noexcept { return listener_.listening_address(); }
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return incidents_; }

  /// Before the first connection.
  void meet(directions world) { directions_ = std::move(world); }
  [[nodiscard]] address const& address_of(rank_type peer) const noexcept { return directions_.addresses[peer]; }

  /// What this rank says to another one.
  [[nodiscard]] hello make_hello(greeting kind, rank_type peer) const noexcept;

  void record_incident(std::string text);

  /// Begins or goes on to make a connection.
  void connect(rank_type peer);

  /// "10.0.0.2:41234", and for how long no connection to it has come about if this rank has tried.
  [[nodiscard]] std::string place_of(rank_type peer) const;

  /// Whether a connection to the peer is being made.
  [[nodiscard]] bool is_connecting(rank_type peer) const noexcept { return attempts_[peer] != nullptr; }

  /// Goes on with all calls, or with those whose time for another attempt has come.
  void continue_connecting(bool retry_all) {
    for (std::size_t i = 0; i < connecting_.size(); ++i) {
      rank_type const peer = connecting_[i];
      if (retry_all || attempts_[peer]->current_state() == connect_attempt::state::idle) {
        connect(peer);
      }
    }
  }

  /// Answers those that call, as many as may be now.
  void accept_connections() { listener_.accept_some(*this); }
  /// Answers all that have called until now.
  void accept_all_connections() { listener_.accept_all(*this); }
  /// Hears a pending connection whose greeting was not complete.
  void read_pending(rank_type descriptor_number) { listener_.read_pending(static_cast<int>(descriptor_number), *this); }

  /// Why no connection can be made: an errno of want of descriptors or memory, 0 if there is none.
  [[nodiscard]] int resource_error() const noexcept {
    return resource_error_ != 0 ? resource_error_ : listener_.resource_error();
  }

 private:
  static constexpr std::size_t most_incidents = 64;

  // What the listener tells. (A virtual function that is inline only later would have the compiler emit the table.)
  TUTTI_DECL void arrive(descriptor socket, hello const& greeting) override;
  TUTTI_DECL void refuse(descriptor const& socket, char const* reason) override;

  void establish(rank_type peer, descriptor socket, hello const& peer_hello);

  tcp_options const& options_;
  rank_type rank_;
  waiter& waiter_;
  observer& observer_;
  directions directions_;
  listener listener_;
  int resource_error_ = 0;
  std::vector<owned<connect_attempt>> attempts_;
  std::vector<rank_type> connecting_;  ///< the peers to which a connection is being made
  std::vector<std::string> incidents_;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/connector.ipp>
#endif
