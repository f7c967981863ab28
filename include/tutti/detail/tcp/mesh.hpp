// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/detail/tcp/connection.hpp>
#include <tutti/detail/tcp/connector.hpp>
#include <tutti/detail/tcp/fault_broadcast.hpp>
#include <tutti/detail/tcp/tuning.hpp>

#include <bit>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// The connections of one rank: made when they are first needed, by the rank that needs them, one for each pair of
/// ranks; watched, and told of faults.
class mesh final : private connector::owner {
 public:
  mesh(tcp_options const& o, address const& at, rank_type rank, rank_type size)
      : options_(with_finite_times(o)),
        rank_(rank),
        connector_(options_, at, rank, size, waiter_, *this),
        connections_(size) {}
  mesh(mesh const&) = delete;
  mesh& operator=(mesh const&) = delete;
  ~mesh() { leave(); }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(connections_.size()); }
  [[nodiscard]] address where() const noexcept { return connector_.where(); }
  /// Before the first connection.
  void meet(directions d) { connector_.meet(std::move(d)); }

  /// In which call this rank is, by lanes.
  struct current {
    bool begun = false;
    std::uint32_t number = 0;
    call what;
  };
  current calls[lane_count];

  [[nodiscard]] std::size_t connections() const noexcept { return up_.size(); }  ///< how many there are
  /// The peers with a connection, which may be over.
  [[nodiscard]] std::vector<rank_type> const& peers() const noexcept { return up_; }
  /// The connection to a peer; null: there is none.
  [[nodiscard]] connection* find(rank_type peer) const noexcept { return connections_[peer].get(); }
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return connector_.incidents(); }
  [[nodiscard]] tutti::fault const& fault() const noexcept override { return broadcast_.fault(); }

  /// The connection to a peer; null while there is none yet, and then it is being made.
  /// @throws error(failure::join) if there are no descriptors left for it
  [[nodiscard]] connection* reach(rank_type peer) {
    if (connections_[peer] == nullptr) [[unlikely]] {
      if (!fault()) {
        connector_.accept_connections();
      }
      if (!fault() && connections_[peer] == nullptr) {
        connector_.call_up(peer);
      }
      if (connections_[peer] == nullptr && connector_.starved() != 0) {
        starve(peer);
      }
    }
    return connections_[peer].get();
  }

  /// Asks a peer that is waited for in which call it is; a later inquiry has the answer.
  /// @throws error (failure::mismatch) if it is at the same flow with another call
  TUTTI_DECL void inquire(rank_type peer, flow s);
  /// Connects to the peer, if it has not been: only a connection tells.
  [[nodiscard]] bool has_left(rank_type peer) {
    connection* const l = fault() ? nullptr : reach(peer);
    return l != nullptr && (l->over || l->in.bye() || l->out.broken());
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

  /// Which rank this one waits for, to all that have asked. After a fault no rank asks, and what led to it stays.
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

  /// Watches a connection for being writable, if the rank sleeps.
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
          return connector_.accept_connections();
        case waiter::what::pending_connection:
          return connector_.hear_pending(rank);
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
          connector_.accept_connections();
          return keep_calling(true);
        case waiter::what::guest:
          return;
      }
    });
  }

  /// Like poll, and asks also those that say nothing.
  void look();

  /// Whether all that this rank has said is in the hands of its peers' systems.
  [[nodiscard]] TUTTI_DECL bool delivered() const noexcept;

  /// Makes what a rank sleeps on readable also when this descriptor is, which is for the caller to look after.
  void wake_for(int descriptor_number) const noexcept { waiter_.add(descriptor_number, waiter::what::guest, 0, false); }
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
      tutti::fault reason;  // nvcc 13 cannot hand a choice between two of them on to g++
      if (why.kind == failure::peer_lost) {
        reason = reason_of(why.culprit);
      }
      adopt(reason ? reason : why, true);
    }
  }
  /// Notes the fault because of which this rank is about to leave.
  void excuse(tutti::fault const& why) noexcept { reason_ = why; }

  /// A peer is gone, or cannot be reached. The reason may be a fault that another one tells of: that comes first,
  /// wherever it lies. A rank that leaves because of a fault has told all of its peers before, so if nothing is found,
  /// this peer is at fault.
  TUTTI_DECL void lose(rank_type peer, failure kind = failure::peer_lost, int code = 0) override;

  /// "10.0.0.2:41234", and for how long no connection to it has come about if this rank has tried.
  [[nodiscard]] std::string place_of(rank_type peer) const { return connector_.place_of(peer); }

 private:
  /// The first fault is told to those that are connected to this rank, or are about to be, for it may leave
  /// and be missed by them; or to all.
  void adopt(tutti::fault const& why, bool to_all);

  // What the connector finds out, besides lose and fault.
  [[nodiscard]] bool connected(rank_type peer) const noexcept override { return connections_[peer] != nullptr; }
  void hear(tutti::fault const& why) override { adopt(fault_broadcast::heard(why, size()), false); }
  TUTTI_DECL void hear_excuse(rank_type peer, tutti::fault const& why) override;
  /// The fault because of which a peer has left; none if that is not known.
  [[nodiscard]] TUTTI_DECL tutti::fault reason_of(rank_type peer) const noexcept;
  TUTTI_DECL void established(rank_type peer, descriptor socket, hello const& theirs) override;

  [[noreturn]] void starve(rank_type peer);

  void close(connection& l) noexcept;

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
    connector_.keep_calling(all);
    broadcast_.advance();
  }
  void spread(rank_type peer);
  void relay(rank_type peer);
  void open_broadcast_connection(rank_type peer);

  /// Says goodbye, and stays until what was accepted has been handed over.
  void leave();

  tcp_options options_;
  rank_type rank_;
  waiter waiter_;
  connector connector_;
  fragment_pool pool_;
  std::vector<owned<connection>> connections_;
  std::vector<rank_type> up_;     ///< those with a connection
  wait_report said_[lane_count];  ///< by this rank
  fault_broadcast broadcast_;
  std::vector<tutti::fault> excuses_;  ///< of peers that told theirs by a connection of its own; empty: none has
  tutti::fault reason_{};              ///< because of which this rank leaves
  time_point last_asked_{};
  bool armed_ = false;
  bool asking_around_ = false;
  bool leaving_ = false;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/mesh.ipp>
#endif
