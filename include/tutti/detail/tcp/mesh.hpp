// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/connection.hpp>
#include <tutti/detail/tcp/connector.hpp>
#include <tutti/detail/tcp/fault_broadcast.hpp>

#include <bit>
#include <memory>
#include <string>
#include <vector>

namespace tutti::detail::net {

/// The connections of one rank: made when they are first needed, by whoever needs them, one for each pair of
/// ranks; watched, and told of faults.
class mesh {
 public:
  mesh(tcp_options const& o, address const& at, rank_type rank, rank_type size)
      : options_(with_finite_times(o)),
        rank_(rank),
        connector_(options_, at, rank, size, waiter_),
        connections_(size) {}
  mesh(mesh const&) = delete;
  mesh& operator=(mesh const&) = delete;
  ~mesh() { leave(); }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(connections_.size()); }
  [[nodiscard]] address where() const noexcept { return connector_.where(); }
  /// Where the others are, and what tells this world from all others. Before the first connection.
  void meet(std::vector<address> addresses, world_id const& world) { connector_.meet(std::move(addresses), world); }

  /// In which call this rank is, by lanes.
  struct current {
    bool begun = false;
    std::uint32_t number = 0;
    call what;
  };
  current calls[lane_count];

  [[nodiscard]] std::size_t connections() const noexcept { return up_.size(); }  ///< how many there are
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return connector_.incidents(); }
  [[nodiscard]] tutti::fault const& fault() const noexcept { return broadcast_.fault(); }

  /// The connection to a peer; null while there is none yet, and then it is being made.
  /// @throws error(failure::join) if there are no descriptors left for it
  [[nodiscard]] connection* reach(rank_type peer) {
    if (connections_[peer] == nullptr) [[unlikely]] {
      if (!fault()) {
        connector_.accept_connections(*this);
      }
      if (!fault() && connections_[peer] == nullptr) {
        connector_.call_up(peer, *this);
      }
      if (connections_[peer] == nullptr && connector_.starved() != 0) {
        starve(peer);
      }
    }
    return connections_[peer].get();
  }

  /// Sees what a connection has brought besides messages. To be called after reading from it.
  void attend(rank_type peer) {
    connection& l = *connections_[peer];
    if (l.in.revoked()) [[unlikely]] {
      hear(l.in.revoked());
    }
    if (l.in.unsound() && !l.over) [[unlikely]] {
      close(l);
      connector_.note("rank " + std::to_string(peer) + " sent bytes that are no frame");
      revoke({failure::protocol, peer, rank_});
    }
    for (std::uint32_t asked = l.in.calls.take_questions(); asked != 0; asked &= asked - 1) {
      auto const lane = static_cast<std::uint32_t>(std::countr_zero(asked));
      current const& c = calls[lane];
      l.out.tell({.kind = frame_kind::status,
                  .lane = static_cast<std::uint8_t>(lane),
                  .number = c.number,
                  .bytes = c.begun ? 1U : 0U,
                  .what = c.what});
      l.flush();
    }
    if (l.in.ended() && !l.over) [[unlikely]] {
      close(l);
      if (!l.in.bye()) {
        lose(peer);
      }
    }
  }

  /// Which rank this one waits for, to all that have asked. After a fault nobody asks, and what led to it stays.
  void say(wait_report const& w) {
    if (fault()) {
      return;
    }
    said_[w.on.lane] = w;
    said_[w.on.lane].fresh = true;
    for (rank_type const peer : up_) {
      connection& l = *connections_[peer];
      if (!l.over && l.in.waits.owes(w)) [[unlikely]] {
        l.out.tell(l.in.waits.answer(w));
        l.flush();
        watch(peer);
      }
    }
  }
  /// False while there is no connection.
  [[nodiscard]] bool ask(rank_type peer) {
    if (peer == rank_) {
      for (wait_report& w : said_) {
        w.fresh = false;
      }
      return true;
    }
    connection* const l = reach(peer);
    if (l == nullptr || l->over) {
      return false;
    }
    l->out.tell(l->in.waits.ask());
    l->flush();
    watch(peer);
    return true;
  }
  [[nodiscard]] wait_report said(rank_type r, std::uint32_t lane) const noexcept {
    return r == rank_ ? said_[lane] : connections_[r] != nullptr ? connections_[r]->in.waits.said(lane) : wait_report{};
  }

  /// Watches a connection for being writable, if somebody sleeps.
  void watch(rank_type peer) {
    if (!armed_) {
      return;
    }
    connection& l = *connections_[peer];
    if (!l.watched && !l.over && (l.out.blocked() || !l.out.empty())) {
      l.watched = true;
      waiter_.change(l.fd(), waiter::what::connection, peer, true);
    }
  }

  void poll() {
    for (std::size_t i = 0; i < up_.size(); ++i) {
      connections_[up_[i]]->flush();
    }
    keep_calling(false);
    waiter_.poll([&](waiter::what what, rank_type rank) {
      switch (what) {
        case waiter::what::listener:
          return connector_.accept_connections(*this);
        case waiter::what::pending_connection:
          return connector_.hear_pending(rank, *this);
        case waiter::what::connect_attempt:
          return keep_calling(true);
        case waiter::what::connection:
          // A reader that waits for a message reads it itself, to a better place.
          if (connections_[rank] != nullptr && !connections_[rank]->in.awaited()) {
            service(rank);
          }
          return;
        case waiter::what::clock:
          waiter_.silence_clock();
          if (steady_now() >= next_question()) {
            return look();
          }
          connector_.accept_connections(*this);
          return keep_calling(true);
      }
    });
  }

  /// Like poll, and asks also those that say nothing.
  void look() {
    connector_.accept_connections(*this);
    keep_calling(true);
    time_point const now = steady_now();
    bool const ask = now >= next_question();
    last_asked_ = ask ? now : last_asked_;
    for (std::size_t i = 0; i < up_.size(); ++i) {
      rank_type const peer = up_[i];
      service(peer);
      if (ask && !connections_[peer]->over && connections_[peer]->silent(options_.silence)) {
        lose(peer);
      }
    }
  }

  [[nodiscard]] int arm() {
    armed_ = true;
    if (!up_.empty()) {
      waiter_.wake_at(next_question());
    }
    for (rank_type const peer : up_) {
      watch(peer);
    }
    return waiter_.fd();
  }
  void disarm() {
    armed_ = false;
    for (rank_type const peer : up_) {
      connection& l = *connections_[peer];
      if (l.watched) {
        l.watched = false;
        waiter_.change(l.fd(), waiter::what::connection, peer, false);
      }
    }
  }

  /// The first fault takes precedence. Every member is told: peers over their connections, and by the rank that found
  /// the fault also those that it has no connection to.
  ///
  /// A rank that leaves finds no more faults: that peers close their connections to it, because it has gone, is
  /// not for the others to hear.
  void revoke(tutti::fault const& why) {
    if (!leaving_) {
      adopt(why, true);
    }
  }

  /// A peer is gone. The reason may be a fault that another one tells of: that comes first, wherever it lies. A rank
  /// that leaves because of a fault has told all of its peers before, so if nothing is found, this peer is at fault.
  void lose(rank_type peer) {
    if (asking_around_) {
      return;  // whether a fault is being told is not known before all have been heard
    }
    if (!fault()) {
      asking_around_ = true;
      connector_.accept_all_connections(*this);
      for (std::size_t i = 0; i < up_.size(); ++i) {
        if (connection& l = *connections_[up_[i]]; !l.over) {
          l.dig();
          attend(up_[i]);
        }
      }
      asking_around_ = false;
    }
    revoke({failure::peer_lost, peer, rank_});
  }

 private:
  friend class connector;

  /// The first fault is told to those that are connected to this rank, or are about to be, for it may leave
  /// and be missed by them; or to all.
  void adopt(tutti::fault const& why, bool to_all) {
    if (!broadcast_.adopt(why)) {
      return;
    }
    for (rank_type r = 0; r < size(); ++r) {
      bool const gone = why.kind == failure::peer_lost && why.culprit == r;
      if (connections_[r] != nullptr) {
        spread(r);
      } else if (r != rank_ && !gone && (to_all || connector_.calls(r))) {
        open_broadcast_connection(r);
      }
    }
  }

  // What the connector finds out, besides lose and fault.
  [[nodiscard]] bool connected(rank_type peer) const noexcept { return connections_[peer] != nullptr; }
  void hear(tutti::fault const& why) { adopt(fault_broadcast::heard(why, size()), false); }
  void established(rank_type peer, descriptor socket, hello const& theirs) {
    waiter_.add(socket.get(), waiter::what::connection, peer, false);
    connections_[peer] = std::make_unique<connection>(std::move(socket), theirs, options_, pool_);
    up_.push_back(peer);
    if (fault()) {
      spread(peer);
    }
  }

  [[noreturn]] void starve(rank_type peer) {
    int const code = connector_.starved();
    revoke({failure::cancelled, rank_, rank_});
    throw error(failure::join, "no connection to rank " + std::to_string(peer) +
                                   " can be made: " + describe_errno(code) +
                                   "; a rank has a descriptor for each peer (ulimit -n), and has " +
                                   std::to_string(connections()) + " of " + std::to_string(size() - 1))
        .between(rank_, {rank_});
  }

  void close(connection& l) noexcept {
    l.over = true;
    l.watched = false;
    waiter_.remove(l.fd());
  }

  /// When those that say nothing are asked again.
  [[nodiscard]] time_point next_question() const noexcept { return last_asked_ + options_.silence / 8; }

  void service(rank_type peer) {
    connection& l = *connections_[peer];
    if (!l.over) {
      l.flush();
      l.pump();
      attend(peer);
    }
  }

  void keep_calling(bool all) {
    connector_.keep_calling(all, *this);
    broadcast_.advance();
  }
  void spread(rank_type peer) {
    if (!broadcast_.tell(*connections_[peer])) {
      relay(peer);
    }
  }
  void relay(rank_type peer) {
    connections_[peer]->relayed = true;
    open_broadcast_connection(peer);
  }
  void open_broadcast_connection(rank_type peer) {
    broadcast_.connect(waiter_, connector_.of(peer), connector_.greet(greeting::revoke, peer, fault()), options_);
  }

  /// Says goodbye, and stays until what was accepted has been handed over.
  void leave() {
    leaving_ = true;
    if (!fault()) {
      for (rank_type const peer : up_) {
        if (!connections_[peer]->out.torn()) {
          connections_[peer]->out.tell({.kind = frame_kind::bye});
        }
      }
    }
    // After a fault nobody waits for data, only for the fault: what is still in the way of it soon will be for longer,
    // so a broadcast connection takes it.
    duration const patience = fault() ? std::min<duration>(options_.linger, std::chrono::seconds(1)) : options_.linger;
    time_point const begin = steady_now();
    for (;;) {
      duration const waited = steady_now() - begin;
      keep_calling(true);
      if (fault()) {
        connector_.accept_connections(*this);
      }
      bool delivered = true;
      for (std::size_t i = 0; i < up_.size(); ++i) {  // there may come to be more
        rank_type const peer = up_[i];
        service(peer);
        connection const& l = *connections_[peer];
        bool const done = l.over || l.relayed || l.delivered() || (!fault() && l.out.torn());
        if (!done && fault() && waited > moment) {
          relay(peer);
        }
        delivered = delivered && done;
      }
      if ((delivered && broadcast_.spread()) || waited > patience) {
        return;
      }
      pollfd handle{arm(), POLLIN, 0};
      ::poll(&handle, 1, 1);
      disarm();
    }
  }

  /// What telling the fault takes if nothing is in the way.
  static constexpr duration moment = std::chrono::milliseconds(20);

  tcp_options options_;
  rank_type rank_;
  waiter waiter_;
  connector connector_;
  fragment_pool pool_;
  std::vector<std::unique_ptr<connection>> connections_;
  std::vector<rank_type> up_;     ///< those with a connection
  wait_report said_[lane_count];  ///< by this rank
  fault_broadcast broadcast_;
  time_point last_asked_{};
  bool armed_ = false;
  bool asking_around_ = false;
  bool leaving_ = false;
};

}  // namespace tutti::detail::net
