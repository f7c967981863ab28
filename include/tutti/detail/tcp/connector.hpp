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
  class owner {
   public:
    /// There is a connection; it is prepared for use.
    virtual void established(rank_type peer, descriptor socket, hello const& theirs) = 0;
    /// Whether there is one already.
    [[nodiscard]] virtual bool connected(rank_type peer) const noexcept = 0;
    /// The peer is gone, or else it could never be reached. `code` is the errno that says so, or 0.
    virtual void lose(rank_type peer, failure kind, int code) = 0;
    /// A peer tells of a fault.
    virtual void hear(tutti::fault const& why) = 0;
    /// A peer leaves because of a fault elsewhere.
    virtual void hear_excuse(rank_type peer, tutti::fault const& why) = 0;
    /// The fault that is known here, which greetings tell.
    [[nodiscard]] virtual tutti::fault const& fault() const noexcept = 0;

   protected:
    ~owner() = default;
  };

  connector(tcp_options const& o, address const& at, rank_type rank, rank_type size, waiter& w, owner& to);
  connector(connector const&) = delete;
  connector& operator=(connector const&) = delete;

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(attempts_.size()); }
  [[nodiscard]] address where() const noexcept { return listener_.where(); }
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return incidents_; }

  /// Before the first connection.
  void meet(directions d) { directions_ = std::move(d); }
  [[nodiscard]] address const& of(rank_type peer) const noexcept { return directions_.addresses[peer]; }

  /// What this rank says to another one.
  [[nodiscard]] hello greet(greeting kind, rank_type to) const noexcept;

  void note(std::string text);

  /// Begins or goes on to make a connection.
  void call_up(rank_type peer);

  /// "10.0.0.2:41234", and for how long no connection to it has come about if this rank has tried.
  [[nodiscard]] std::string place_of(rank_type peer) const;

  /// Whether a connection to the peer is being made.
  [[nodiscard]] bool calls(rank_type peer) const noexcept { return attempts_[peer] != nullptr; }

  /// Goes on with all calls, or with those whose time for another attempt has come.
  void keep_calling(bool all) {
    for (std::size_t i = 0; i < calling_.size(); ++i) {
      rank_type const peer = calling_[i];
      if (all || attempts_[peer]->now() == connect_attempt::state::idle) {
        call_up(peer);
      }
    }
  }

  /// Answers those that call, as many as may be now.
  void accept_connections() { listener_.answer(*this); }
  /// Answers all that have called until now.
  void accept_all_connections() { listener_.answer_all(*this); }
  /// Hears a pending connection whose greeting was not complete.
  void hear_pending(rank_type descriptor_number) { listener_.hear(static_cast<int>(descriptor_number), *this); }

  /// Why no connection can be made: an errno of want of descriptors or memory, 0 if there is none.
  [[nodiscard]] int starved() const noexcept { return starved_ != 0 ? starved_ : listener_.starved(); }

 private:
  static constexpr std::size_t most_incidents = 64;

  // What the listener tells. (A virtual function that is inline only later would have the compiler emit the table.)
  TUTTI_DECL void arrive(descriptor socket, hello const& says) override;
  TUTTI_DECL void refuse(descriptor const& socket, char const* why) override;

  void establish(rank_type peer, descriptor socket, hello const& theirs);

  tcp_options const& options_;
  rank_type rank_;
  waiter& waiter_;
  owner& owner_;
  directions directions_;
  listener listener_;
  int starved_ = 0;
  std::vector<owned<connect_attempt>> attempts_;
  std::vector<rank_type> calling_;  ///< the peers to which a connection is being made
  std::vector<std::string> incidents_;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/connector.ipp>
#endif
