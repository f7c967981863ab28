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
class mesh final : private connector::observer {
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
  [[nodiscard]] address where() const noexcept { return connector_.listening_address(); }
  /// Before the first connection.
  void meet(directions d) { connector_.meet(std::move(d)); }

  /// In which call this rank is, by lanes.
  struct open_call {
    bool has_begun = false;
    std::uint32_t number = 0;
    call description;
  };
  open_call calls[lane_count];

  [[nodiscard]] std::size_t connections() const noexcept { return connected_peers_.size(); }  ///< how many there are
  /// The peers with a connection, which may be over.
  [[nodiscard]] std::vector<rank_type> const& peers() const noexcept { return connected_peers_; }
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
        connector_.connect(peer);
      }
      if (connections_[peer] == nullptr && connector_.resource_error() != 0) {
        throw_starved(peer);
      }
    }
    return connections_[peer].get();
  }

  /// Asks a peer that is waited for in which call it is; a later inquiry has the answer.
  /// @throws error (failure::mismatch) if it is at the same flow with another call
  TUTTI_DECL void inquire(rank_type peer, flow s);
  /// Connects to the peer, if it has not been: only a connection tells.
  [[nodiscard]] bool has_left(rank_type peer) {
    connection* const link = fault() ? nullptr : reach(peer);
    return link != nullptr && (link->is_closed || link->reader.has_said_bye() || link->writer.is_broken());
  }

  /// Sees what a connection has brought besides messages. To be called after reading from it.
  void handle_events(rank_type peer) {
    connection& link = *connections_[peer];
    if (link.reader.revoke_fault()) [[unlikely]] {
      receive_fault(link.reader.revoke_fault());
    }
    if (link.reader.is_malformed() && !link.is_closed) [[unlikely]] {
      close(link);
      connector_.record_incident("rank " + std::to_string(peer) + " sent bytes that are no frame");
      revoke({failure::protocol, peer, rank_});
    }
    for (std::uint32_t lanes = link.reader.call_checks.take_queries(); lanes != 0; lanes &= lanes - 1) {
      auto const lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
      open_call const& open = calls[lane];
      link.writer.queue_control_frame({.kind = frame_kind::call_reply,
                                       .lane = static_cast<std::uint8_t>(lane),
                                       .number = open.number,
                                       .bytes = open.has_begun ? 1U : 0U,
                                       .sender_call = open.description});
      link.flush();
    }
    if (link.reader.has_ended() && !link.is_closed) [[unlikely]] {
      close(link);
      if (!link.reader.has_said_bye()) {
        lose(peer);
      }
    }
  }

  /// Which rank this one waits for, to all that have asked. After a fault no rank asks, and what led to it stays.
  void say(wait_report const& report) {
    if (fault()) {
      return;
    }
    own_reports_[report.on.lane] = report;
    own_reports_[report.on.lane].fresh = true;
    for (rank_type const peer : connected_peers_) {
      connection& link = *connections_[peer];
      if (!link.is_closed && link.reader.wait_states.needs_reply(report)) [[unlikely]] {
        link.writer.queue_control_frame(link.reader.wait_states.make_reply(report));
        link.flush();
        watch(peer);
      }
    }
  }
  /// False while there is no connection.
  [[nodiscard]] bool ask(rank_type peer) {
    if (peer == rank_) {
      for (wait_report& own_report : own_reports_) {
        own_report.fresh = false;
      }
      return true;
    }
    connection* const link = reach(peer);
    if (link == nullptr || link->is_closed) {
      return false;
    }
    link->writer.queue_control_frame(link->reader.wait_states.make_query());
    link->flush();
    watch(peer);
    return true;
  }
  [[nodiscard]] wait_report said(rank_type r, std::uint32_t lane) const noexcept {
    return r == rank_                   ? own_reports_[lane]
           : connections_[r] != nullptr ? connections_[r]->reader.wait_states.last_report(lane)
                                        : wait_report{};
  }

  /// Watches a connection for being writable, if the rank sleeps.
  void watch(rank_type peer) {
    if (!is_armed_) {
      return;
    }
    connection& link = *connections_[peer];
    if (!link.write_watched && !link.is_closed && (link.writer.is_blocked() || !link.writer.is_empty())) {
      link.write_watched = true;
      waiter_.change(link.fd(), waiter::source::connection, peer, true);
    }
  }

  void poll() {
    for (std::size_t i = 0; i < connected_peers_.size(); ++i) {
      connections_[connected_peers_[i]]->flush();
    }
    continue_connecting(false);
    waiter_.poll([&](waiter::source source, rank_type rank) {
      switch (source) {
        case waiter::source::listener:
          return connector_.accept_connections();
        case waiter::source::pending_connection:
          return connector_.read_pending(rank);
        case waiter::source::connect_attempt:
          return continue_connecting(true);
        case waiter::source::connection:
          // A reader that waits for a message reads it itself, to a better place.
          if (connections_[rank] != nullptr && !connections_[rank]->reader.has_waiting_reader()) {
            service(rank);
          }
          return;
        case waiter::source::clock:
          waiter_.clear_clock();
          if (steady_now() >= next_silence_check()) {
            return look();
          }
          connector_.accept_connections();
          return continue_connecting(true);
        case waiter::source::foreign:
          return;
      }
    });
  }

  /// Like poll, and asks also those that say nothing.
  void look();

  /// Whether all that this rank has said is in the hands of its peers' systems.
  [[nodiscard]] TUTTI_DECL bool is_delivered() const noexcept;

  /// Makes what a rank sleeps on readable also when this descriptor is, which is for the caller to look after.
  void wake_for(int descriptor_number) const noexcept {
    waiter_.add(descriptor_number, waiter::source::foreign, 0, false);
  }
  [[nodiscard]] int arm() {
    is_armed_ = true;
    if (!connected_peers_.empty()) {
      waiter_.wake_at(next_silence_check());
    }
    for (rank_type const peer : connected_peers_) {
      watch(peer);
    }
    return waiter_.fd();
  }
  void disarm() {
    is_armed_ = false;
    for (rank_type const peer : connected_peers_) {
      connection& link = *connections_[peer];
      if (link.write_watched) {
        link.write_watched = false;
        waiter_.change(link.fd(), waiter::source::connection, peer, false);
      }
    }
  }

  /// The first fault takes precedence. Every member is told: peers over their connections, and by the rank that found
  /// the fault also those that it has no connection to.
  ///
  /// A rank that leaves finds no more faults: that peers close their connections to it, because it has gone, is
  /// not for the others to hear.
  void revoke(tutti::fault const& cause) {
    if (!leaving_) {
      tutti::fault reason;  // nvcc 13 cannot hand a choice between two of them on to g++
      if (cause.kind == failure::peer_lost) {
        reason = leave_reason_of(cause.culprit);
      }
      adopt_fault(reason ? reason : cause, true);
    }
  }
  /// Notes the fault because of which this rank is about to leave.
  void excuse(tutti::fault const& cause) noexcept { leave_reason_ = cause; }

  /// A peer is gone, or cannot be reached. The reason may be a fault that another one tells of: that comes first,
  /// wherever it lies. A rank that leaves because of a fault has told all of its peers before, so if nothing is found,
  /// this peer is at fault.
  TUTTI_DECL void lose(rank_type peer, failure kind = failure::peer_lost, int code = 0) override;

  /// "10.0.0.2:41234", and for how long no connection to it has come about if this rank has tried.
  [[nodiscard]] std::string place_of(rank_type peer) const { return connector_.place_of(peer); }

 private:
  /// The first fault is told to those that are connected to this rank, or are about to be, for it may leave
  /// and be missed by them; or to all.
  void adopt_fault(tutti::fault const& cause, bool to_all);

  // What the connector finds out, besides lose and fault.
  [[nodiscard]] bool is_connected(rank_type peer) const noexcept override { return connections_[peer] != nullptr; }
  void receive_fault(tutti::fault const& cause) override {
    adopt_fault(fault_broadcast::sanitize(cause, size()), false);
  }
  TUTTI_DECL void receive_excuse(rank_type peer, tutti::fault const& cause) override;
  /// The fault because of which a peer has left; none if that is not known.
  [[nodiscard]] TUTTI_DECL tutti::fault leave_reason_of(rank_type peer) const noexcept;
  TUTTI_DECL void add_connection(rank_type peer, descriptor socket, hello const& peer_hello) override;

  [[noreturn]] void throw_starved(rank_type peer);

  void close(connection& link) noexcept;

  /// When those that say nothing are asked again.
  [[nodiscard]] time_point next_silence_check() const noexcept { return last_silence_check_ + options_.silence / 8; }

  void service(rank_type peer) {
    connection& link = *connections_[peer];
    if (!link.is_closed) {
      link.flush();
      link.pump();
      handle_events(peer);
    }
  }

  void continue_connecting(bool retry_all) {
    connector_.continue_connecting(retry_all);
    broadcast_.advance();
  }
  void send_fault(rank_type peer);
  void relay_fault(rank_type peer);
  void open_broadcast_connection(rank_type peer);

  /// Says goodbye, and stays until what was accepted has been handed over.
  void leave();

  tcp_options options_;
  rank_type rank_;
  waiter waiter_;
  connector connector_;
  fragment_pool pool_;
  std::vector<owned<connection>> connections_;
  std::vector<rank_type> connected_peers_;  ///< those with a connection
  wait_report own_reports_[lane_count];     ///< by this rank
  fault_broadcast broadcast_;
  std::vector<tutti::fault> excuses_;  ///< of peers that told theirs by a connection of its own; empty: none has
  tutti::fault leave_reason_{};        ///< because of which this rank leaves
  time_point last_silence_check_{};
  bool is_armed_ = false;
  bool collecting_faults_ = false;
  bool leaving_ = false;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/mesh.ipp>
#endif
