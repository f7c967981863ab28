// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/tcp/connection.hpp>
#include <tutti/detail/tcp/connector.hpp>
#include <tutti/detail/tcp/fault_broadcast.hpp>
#include <tutti/detail/tcp/socket_options.hpp>

#include <bit>
#include <exception>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::detail::tcp {

/// The connections of one rank, at most one for each peer, made by the rank that first needs it. Watches them, and
/// spreads faults.
///
/// A peer counts as dead if its stream ends without a bye, if its host stops answering, or if it cannot be connected
/// to. The rank that sees it (`lose`) first reads all other connections for a fault that explains it, or for the peer's
/// own reason to leave. Without either, the fault names the peer. It is sent as a `revoke`: a frame on each connection,
/// and a hello on a broadcast connection to ranks without one. Each receiver forwards it to its own peers.
class mesh final : private connector::handler {
 public:
  mesh(tcp_options const& options, address const& at, rank_type rank, rank_type size)
      : options_(with_finite_times(options)),
        rank_(rank),
        connector_(options_, at, rank, size, waiter_, *this),
        connections_(size) {}
  mesh(mesh const&) = delete;
  mesh& operator=(mesh const&) = delete;
  ~mesh() {
    try {
      leave();
    } catch (std::exception const&) {  // without memory or descriptors; peers see the streams end without a bye
    }
  }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(connections_.size()); }
  [[nodiscard]] address listening_address() const noexcept { return connector_.listening_address(); }
  /// Sets the addresses of all ranks, before the first connection.
  void meet(directions d) { connector_.meet(std::move(d)); }

  /// The call of this rank on a lane.
  struct open_call {
    bool has_begun = false;
    std::uint32_t number = 0;
    call description;
  };
  open_call calls[lane_count];

  [[nodiscard]] std::size_t connections() const noexcept { return connected_peers_.size(); }
  /// The peers with a connection, open or closed.
  [[nodiscard]] std::vector<rank_type> const& peers() const noexcept { return connected_peers_; }
  /// The connection to a peer, or null.
  [[nodiscard]] connection* find(rank_type peer) const noexcept { return connections_[peer].get(); }
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return connector_.incidents(); }
  [[nodiscard]] tutti::fault const& fault() const noexcept override { return broadcast_.fault(); }

  /// Returns the connection to a peer, or null while it is being made.
  /// @throws error(failure::join) if no descriptors are left for it
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

  /// Queries the call of a peer that this rank waits for; a later `detect_mismatch` has the reply.
  /// @throws error (failure::mismatch) if the peer is at the same flow with another call
  TUTTI_DECL void detect_mismatch(rank_type peer, flow s);
  /// True if the peer has left or died. Connects first if needed: only a connection tells.
  [[nodiscard]] bool has_left(rank_type peer) {
    connection* const link = fault() ? nullptr : reach(peer);
    return link != nullptr && (link->is_closed || link->reader.has_said_bye() || link->writer.is_broken());
  }

  /// Handles what a connection has brought besides messages. Called after each read.
  void handle_events(rank_type peer) {
    connection& link = *connections_[peer];
    if (link.reader.revoke_fault()) [[unlikely]] {
      receive_fault(link.reader.revoke_fault());
    }
    if (link.reader.is_malformed() && !link.is_closed) [[unlikely]] {
      close(link);
      record_malformed(peer);
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

  /// Reports what this rank waits for to all peers with an open query. After a fault nothing changes the last report.
  void publish_wait(wait_report const& report) {
    if (fault()) {
      return;
    }
    own_reports_[report.flow.lane] = report;
    own_reports_[report.flow.lane].is_fresh = true;
    for (rank_type const peer : connected_peers_) {
      connection& link = *connections_[peer];
      if (!link.is_closed && link.reader.wait_states.needs_reply(report)) [[unlikely]] {
        link.writer.queue_control_frame(link.reader.wait_states.make_reply(report));
        link.flush();
        watch(peer);
      }
    }
  }
  /// Queries what a peer waits for. Returns false while there is no connection.
  [[nodiscard]] bool query_wait(rank_type peer) {
    if (peer == rank_) {
      for (wait_report& own_report : own_reports_) {
        own_report.is_fresh = false;
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
  [[nodiscard]] wait_report reported_wait(rank_type r, std::uint32_t lane) const noexcept {
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
    if (!link.write_watched && !link.is_closed && link.awaits_room()) {
      link.write_watched = true;
      waiter_.change(link.fd(), waiter::source::connection, peer, true);
    }
  }

  void poll() {
    for (std::size_t i = 0; i < connected_peers_.size(); ++i) {
      connections_[connected_peers_[i]]->flush();
    }
    if (options_.encryption) [[unlikely]] {
      take_hidden_input();
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
          // A waiting reader reads by itself, to a better place.
          if (connections_[rank] != nullptr && !connections_[rank]->reader.has_waiting_reader()) {
            service(rank);
          }
          return;
        case waiter::source::clock:
          waiter_.clear_clock();
          if (steady_now() >= next_silence_check()) {
            return probe();
          }
          connector_.accept_connections();
          return continue_connecting(true);
        case waiter::source::foreign:
          return;
      }
    });
  }

  /// Polls all connections and, every eighth of `silence`, checks for hosts that have stopped answering the system's
  /// own probes. Costs system calls.
  void probe();

  /// True if all that this rank has sent has arrived at its peers' systems.
  [[nodiscard]] TUTTI_DECL bool is_delivered() const noexcept;

  /// Lets another descriptor, which the caller serves, wake this rank.
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
    if (options_.encryption && has_hidden_input()) [[unlikely]] {
      waiter_.wake_at(steady_now());
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

  /// Adopts a fault, unless there is one, and sends it to every member: over connections, and by broadcast connections
  /// to the others.
  ///
  /// Ignored while this rank leaves: peers that close their connections then are no fault.
  void revoke(tutti::fault const& cause) {
    if (!is_leaving_) {
      tutti::fault reason;  // compilers.md: Smaller gaps
      if (cause.kind == failure::peer_lost) {
        reason = leave_reason_of(cause.culprit);
      }
      adopt_fault(reason ? reason : cause, true);
    }
  }
  /// Notes the fault that makes this rank leave.
  void announce_departure(tutti::fault const& cause) noexcept { leave_reason_ = cause; }

  /// Reports that a peer is gone or unreachable. A fault that another rank has told takes precedence: it is looked for
  /// on all connections first. A rank that leaves because of a fault tells all peers before, so without one this peer
  /// is at fault.
  TUTTI_DECL void lose(rank_type peer, failure kind = failure::peer_lost, int code = 0) override;

  /// The address "10.0.0.2:41234", and the time for which connecting to it has failed.
  [[nodiscard]] std::string describe_address(rank_type peer) const { return connector_.describe_address(peer); }

 private:
  /// Adopts the first fault, and sends it to all ranks, or only to those connected to this one or about to be, which
  /// could miss the fault when it leaves.
  void adopt_fault(tutti::fault const& cause, bool to_all);

  // Overrides of connector::handler.
  [[nodiscard]] bool is_connected(rank_type peer) const noexcept override { return connections_[peer] != nullptr; }
  void receive_fault(tutti::fault const& cause) override {
    adopt_fault(fault_broadcast::sanitize(cause, size()), false);
  }
  TUTTI_DECL void receive_excuse(rank_type peer, tutti::fault const& cause) override;
  /// The fault that made a peer leave, or an empty one.
  [[nodiscard]] TUTTI_DECL tutti::fault leave_reason_of(rank_type peer) const noexcept;
  TUTTI_DECL void add_connection(rank_type peer, wire bytes, hello const& peer_hello) override;

  [[noreturn]] void throw_starved(rank_type peer);

  void close(connection& link) noexcept;
  TUTTI_DECL void record_malformed(rank_type peer);

  /// True if a connection may have bytes to read that its socket does not show.
  [[nodiscard]] TUTTI_DECL bool has_hidden_input() const noexcept;
  /// Reads them, unless a waiting reader does.
  TUTTI_DECL void take_hidden_input();

  /// The time of the next check for silent hosts.
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
  void say_bye(rank_type peer);
  void relay_fault(rank_type peer);
  void open_broadcast_connection(rank_type peer);

  /// Sends a bye on each connection, and the reason to all other ranks if there is one. Then waits until everything
  /// accepted is delivered or `linger` has passed.
  void leave();

  tcp_options options_;
  rank_type rank_;
  waiter waiter_;
  connector connector_;
  fragment_pool pool_;
  std::vector<owner<connection>> connections_;
  std::vector<rank_type> connected_peers_;
  wait_report own_reports_[lane_count];  ///< last reports, by lane
  fault_broadcast broadcast_;
  std::vector<tutti::fault> excuses_;  ///< reasons that leaving peers without a connection have sent; empty: none
  tutti::fault leave_reason_{};        ///< the fault that makes this rank leave
  time_point last_silence_check_{};
  bool is_armed_ = false;
  bool is_collecting_faults_ = false;
  bool is_leaving_ = false;
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/mesh.ipp>
#endif
