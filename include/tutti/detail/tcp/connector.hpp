// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/connect_attempt.hpp>
#include <tutti/detail/tcp/listener.hpp>
#include <tutti/detail/tcp/tuning.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tutti::detail::net {

/// Makes the connections of one rank: calls peers, and answers those that call.
///
/// If both do at the same time, the connection of the lower rank stays: the higher one gives its own up when the
/// other's arrives; the lower one answers that they crossed.
///
/// What comes of it is told to an owner, which is handed to every function that may find something out:
///
///     owner.established(peer, socket, hello)   there is a connection; it is prepared for use
///     owner.connected(peer)                       is there one already?
///     owner.lose(peer)                         the peer is gone
///     owner.hear(fault)                        the peer tells of a fault
///     owner.fault()                            the fault that is known here, which greetings tell
class connector {
 public:
  connector(tcp_options const& o, address const& at, rank_type rank, rank_type size, waiter& w)
      : options_(o), rank_(rank), waiter_(w), listener_(at, w, o.handshake), attempts_(size) {
    size_buffers(listener_.fd(), o);
  }
  connector(connector const&) = delete;
  connector& operator=(connector const&) = delete;

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(attempts_.size()); }
  [[nodiscard]] address where() const noexcept { return listener_.where(); }
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return incidents_; }

  /// Where the others are, and what tells this world from all others. Before the first connection.
  void meet(std::vector<address> addresses, world_id const& world) {
    addresses_ = std::move(addresses);
    world_ = world;
  }
  [[nodiscard]] address const& of(rank_type peer) const noexcept { return addresses_[peer]; }

  /// What this rank says to another one.
  [[nodiscard]] hello greet(greeting kind, rank_type to, tutti::fault const& known) const noexcept {
    hello h;
    h.world = world_;
    h.kind = kind;
    h.from = rank_;
    h.to = to;
    h.fault = known.pack();
    h.window = options_.window;
    return h;
  }

  void note(std::string text) {
    if (incidents_.size() < most_incidents) {
      incidents_.push_back(std::move(text));
    }
  }

  /// Begins or goes on to make a connection.
  template <class Owner>
  void call_up(rank_type peer, Owner& owner) {
    if (attempts_[peer] == nullptr) {
      attempts_[peer] = std::make_unique<connect_attempt>(
          waiter_, addresses_[peer], greet(greeting::hello, peer, owner.fault()), options_, time_for_broadcast);
      calling_.push_back(peer);
    }
    connect_attempt& d = *attempts_[peer];
    d.advance();
    if (visitor<Owner> v{*this, owner}; d.starved() != 0 && listener_.clear(v)) {
      d.advance();
    }
    starved_ = d.starved();
    if (d.now() == connect_attempt::state::lost) {
      return owner.lose(peer);
    }
    if (d.now() != connect_attempt::state::answered) {
      return;
    }
    hello const answer = d.answer();
    char const* const objection = answer.from == peer ? answer.objection(world_, rank_, size()) : "another rank";
    if (objection != nullptr) {
      note("where rank " + std::to_string(peer) + " listened, somebody else answers: " + objection);
      owner.lose(peer);
    } else if (answer.kind == greeting::welcome) {
      establish(peer, d.take(), answer, owner);
    } else if (answer.kind == greeting::revoke) {
      d.wait_for_peer();
      owner.hear(tutti::fault::unpack(answer.fault));
    } else {
      d.wait_for_peer();
    }
  }

  /// Whether a connection to the peer is being made.
  [[nodiscard]] bool calls(rank_type peer) const noexcept { return attempts_[peer] != nullptr; }

  /// Goes on with all calls, or with those whose time for another attempt has come.
  template <class Owner>
  void keep_calling(bool all, Owner& owner) {
    for (std::size_t i = 0; i < calling_.size(); ++i) {
      rank_type const peer = calling_[i];
      if (all || attempts_[peer]->now() == connect_attempt::state::idle) {
        call_up(peer, owner);
      }
    }
  }

  /// Answers those that call, as many as may be now.
  template <class Owner>
  void accept_connections(Owner& owner) {
    visitor<Owner> v{*this, owner};
    listener_.answer(v);
  }
  /// Answers all that have called until now.
  template <class Owner>
  void accept_all_connections(Owner& owner) {
    visitor<Owner> v{*this, owner};
    listener_.answer_all(v);
  }
  /// Hears a pending connection whose greeting was not complete.
  template <class Owner>
  void hear_pending(rank_type descriptor_number, Owner& owner) {
    visitor<Owner> v{*this, owner};
    listener_.hear(static_cast<int>(descriptor_number), v);
  }

  /// Why no connection can be made: an errno of want of descriptors or memory, 0 if there is none.
  [[nodiscard]] int starved() const noexcept { return starved_ != 0 ? starved_ : listener_.starved(); }

 private:
  static constexpr std::size_t most_incidents = 64;
  /// Why a peer has left is told before it leaves, but perhaps by a rank that has to wait for a processor.
  static constexpr duration time_for_broadcast = std::chrono::milliseconds(100);

  /// Hears of the connections that the listener accepts.
  template <class Owner>
  struct visitor {
    connector& self;
    Owner& owner;

    void arrive(descriptor socket, hello const& h) { self.welcome(std::move(socket), h, owner); }
    void refuse(descriptor const& socket, char const* why) { self.refuse(socket.get(), why); }
  };

  void refuse(int fd, char const* why) {
    if (incidents_.size() < most_incidents) {
      note("refused a connection from " + peer_address(fd).text() + ": " + why);
    }
  }

  /// A pending connection has said which rank it is from.
  template <class Owner>
  void welcome(descriptor socket, hello const& h, Owner& owner) {
    char const* const objection = h.objection(world_, rank_, size());
    if (objection != nullptr || (h.kind != greeting::hello && h.kind != greeting::revoke)) {
      return refuse(socket.get(), objection != nullptr ? objection : "nonsense");
    }
    if (h.kind == greeting::revoke) {
      owner.hear(tutti::fault::unpack(h.fault));
    }
    connect_attempt const* const own = attempts_[h.from].get();
    bool const crossed = owner.connected(h.from) || (own != nullptr && own->said() && rank_ < h.from);
    greeting const kind = owner.fault() ? greeting::revoke : crossed ? greeting::crossed : greeting::welcome;
    hello const answer = greet(kind, h.from, owner.fault());
    moved const m = write_some(socket.get(), std::as_bytes(std::span(&answer, 1)));
    if (m.state == io::done && kind == greeting::welcome) {
      establish(h.from, std::move(socket), h, owner);
    }
  }

  template <class Owner>
  void establish(rank_type peer, descriptor socket, hello const& theirs, Owner& owner) {
    attempts_[peer].reset();
    std::erase(calling_, peer);
    keep_alive(socket.get(), options_.silence);
    size_buffers(socket.get(), options_);
    if (local_address(socket.get()).host() == peer_address(socket.get()).host()) {
      suit_one_host(socket.get(), options_);
    }
    owner.established(peer, std::move(socket), theirs);
  }

  tcp_options const& options_;
  rank_type rank_;
  waiter& waiter_;
  world_id world_{};
  std::vector<address> addresses_;
  listener listener_;
  int starved_ = 0;
  std::vector<std::unique_ptr<connect_attempt>> attempts_;
  std::vector<rank_type> calling_;  ///< to whom a connection is being made
  std::vector<std::string> incidents_;
};

}  // namespace tutti::detail::net
