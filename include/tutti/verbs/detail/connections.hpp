// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/detail/tcp/mesh.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/verbs/detail/addresses.hpp>
#include <tutti/verbs/detail/connection.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <poll.h>
#include <random>
#include <sched.h>
#include <vector>

namespace tutti::inline v0_1_0::detail::verbs {

/// The connections of one rank, each made when this rank or the peer first needs it, and their completions. Control
/// messages use the sockets of tcp's mesh: connection notes, faults, queries and goodbyes. A socket that closes means
/// that its peer has died. Neighbours in a ring of all ranks connect at the start, so every death is detected.
class connections {
 public:
  connections(verbs_options const& options, net::address const& socket, std::string const& host, rank_type rank,
              rank_type size)
      : options_(options),
        rank_(rank),
        device_(open_device(options, host)),
        registrar_(device_),
        calls_memory_(device_, reinterpret_cast<std::byte const*>(calls_.get()), lane_count * sizeof(call_board),
                      access::remote_read),
        mesh_({}, socket, rank, size),
        completions_(device_, std::min<std::uint64_t>(size, 4) * connection::max_completions),
        next_memory_(size > 1 ? connection::allocate_memory(device_) : registered_memory()),
        connections_(size) {
    mesh_.wake_for(completions_.descriptor_number());
    keep_mappings_from_children();
  }
  connections(connections const&) = delete;
  connections& operator=(connections const&) = delete;
  ~connections() { leave(); }

  /// False in a forked child, whose copy must not touch the device.
  [[nodiscard]] bool is_own() const noexcept { return owner_ == fork_guard::generation(); }

  /// The endpoint information to publish.
  [[nodiscard]] std::string text(world_secret const& secret) const {
    endpoint_info info;
    info.address = device_.address;
    info.lid = device_.port.lid;
    info.mtu = static_cast<std::uint32_t>(device_.port.active_mtu);
    info.max_message = device_.port.max_msg_sz;
    info.max_reads = static_cast<std::uint32_t>((std::min)(device_.limits.max_qp_rd_atom, 255));
    info.first_packet = first_packet_;
    info.calls_address = reinterpret_cast<std::uintptr_t>(calls_.get());
    info.calls_key = calls_memory_.remote_key();
    return info.text() + '\n' + tcp::endpoint_info::make(mesh_.listening_address(), {}, secret).text();
  }
  /// Connects to the neighbours in the ring of all ranks.
  /// @throws error(failure::join) that names a neighbour which does not answer
  void meet(addresses infos, world_secret const& secret) {
    mesh_.meet(tcp::directions_of(infos.sockets, mesh_.listening_address(), secret));
    infos_ = std::move(infos.endpoints);
    rank_type const next = (rank_ + 1) % size();
    rank_type const previous = (rank_ + size() - 1) % size();
    time_point const end = steady_now() + join_timeout;
    while (next != rank_ && !fault() && (mesh_.reach(next) == nullptr || mesh_.find(previous) == nullptr)) {
      if (steady_now() > end) {
        rank_type const silent = mesh_.find(next) == nullptr ? next : previous;
        throw error(failure::join, message({"rank ", silent, " joined but does not connect; see if it is stopped"}))
            .set_ranks(rank_, {silent});
      }
      wait_for_control();
    }
  }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(connections_.size()); }
  [[nodiscard]] std::size_t count() const noexcept { return peers_.size(); }
  [[nodiscard]] tutti::fault const& fault() const noexcept { return mesh_.fault(); }
  [[nodiscard]] tcp::mesh& mesh() noexcept { return mesh_; }
  [[nodiscard]] tcp::mesh const& mesh() const noexcept { return mesh_; }
  [[nodiscard]] piece_pool& pool() noexcept { return pool_; }
  [[nodiscard]] registrar& memory() noexcept { return registrar_; }

  /// The connection to a peer; null while it is being made.
  /// @throws error(failure::join) if the system refuses resources
  [[nodiscard]] connection* reach(rank_type peer) {
    connection* const peer_connection = connections_[peer].get();
    return peer_connection != nullptr && peer_connection->is_ready() ? peer_connection : connect(peer);
  }
  /// The connection to a peer. @pre `reach` has returned it
  [[nodiscard]] connection& connection_to(rank_type peer) noexcept { return *connections_[peer]; }

  void begin(flow s, call const& call_info) noexcept {
    open_flow& open = open_flows_[s.lane];
    open.check = s.lane == transfer_lane ? s.number : check_of(call_info, s.number);
    calls_[s.lane].records[open.open_count++ % call_board::record_count].write(call_info, s.number);
    mesh_.calls[s.lane] = {true, s.number, call_info};
  }
  [[nodiscard]] std::uint32_t current_check(flow s) const noexcept {
    return s.lane == transfer_lane ? s.number : open_flows_[s.lane].check;
  }
  [[nodiscard]] call const& call_of(flow s) const noexcept { return mesh_.calls[s.lane].description; }

  void poll() {
    take_completions();
    if (expects_control_ || ++poll_count_ % mesh_poll_interval == 0) {
      poll_mesh();
    }
  }
  /// Makes progress like `poll`, and probes silent peers.
  void probe() {
    take_completions();
    mesh_.probe();
    poll_mesh();
    bool const probe_due = steady_now() - last_probe_ >= probe_interval;
    last_probe_ = probe_due ? steady_now() : last_probe_;
    for (std::size_t i = 0; i < peers_.size() && !fault(); ++i) {
      connection& peer_connection = *connections_[peers_[i]];
      if (peer_connection.queue().is_broken() && !peer_connection.peer_has_left()) {
        mesh_.lose(peers_[i]);
      } else if (probe_due && peer_connection.is_ready() && !peer_connection.peer_has_left()) {
        peer_connection.queue().probe();
      }
    }
    if (refusal_) {
      revoke({failure::cancelled, rank_, rank_});
    }
  }
  /// Returns a descriptor that becomes readable on a completion or a control message.
  [[nodiscard]] int arm() {
    completions_.arm();
    return mesh_.arm();
  }
  void disarm() {
    expects_control_ =
        !completions_.disarm() || expects_control_;  // no completion signalled, so a control socket woke this rank
    mesh_.disarm();
  }

  /// Announces a fault; the first one wins. A rank that leaves announces none.
  void revoke(tutti::fault const& reason) {
    if (!leaving_) {
      mesh_.revoke(reason);
    }
  }
  /// Notes the fault that makes this rank leave.
  void announce_departure(tutti::fault const& reason) noexcept {
    reason_ = reason;
    mesh_.announce_departure(reason);
  }
  /// Checks a peer whose message is missing: the peer, or the connection, may be gone.
  /// @throws error that describes the failure, if this rank is the one that found it
  void check_peer(rank_type peer) {
    throw_if_refused();
    connection const* const peer_connection = connections_[peer].get();
    if (peer_connection == nullptr || !peer_connection->is_finished() || fault()) [[likely]] {
      return;
    }
    poll_mesh();
    bool const has_failed =
        peer_connection->queue().is_broken() && !peer_connection->peer_has_left() && !mesh_.has_left(peer);
    mesh_.lose(peer);
    if (has_failed && fault() == tutti::fault{failure::peer_lost, peer, rank_}) {
      throw error(failure::peer_lost, peer_connection->queue().failure_text()).set_ranks(rank_, {peer});
    }
  }

  /// Returns when the fault has been announced, and neither peers nor the device access this rank's memory any more;
  /// takes a second at most.
  void quiesce() {
    if (fault() && !is_stopped_) {
      flush_control(leave_timeout);
      stop();
    }
  }

 private:
  static constexpr duration probe_interval = std::chrono::milliseconds(100);
  static constexpr duration leave_timeout = std::chrono::milliseconds(500);
  /// polls of the data path; one of the mesh costs a system call
  static constexpr std::uint32_t mesh_poll_interval = 32;
  static constexpr flow note_flow{0, 0};

  struct open_flow {
    std::uint32_t check = 0;
    std::uint32_t open_count = 0;
  };

  void take_completions() {
    bool newly_broken = false;
    completions_.drain([&](ibv_wc const& completion) {
      work_id const id = work_id::unpack(completion.wr_id);
      connection& peer_connection = *connections_[id.peer];
      bool const was_broken = peer_connection.queue().is_broken();
      peer_connection.complete(id, completion);
      if (peer_connection.has_violated_protocol()) [[unlikely]] {
        revoke({failure::protocol, id.peer, rank_});
      }
      newly_broken = newly_broken || peer_connection.queue().is_broken() != was_broken;
      credits_pending_ = credits_pending_ || peer_connection.has_pending_credits();
    });
    if (credits_pending_) [[unlikely]] {
      credits_pending_ = false;
      for (rank_type const r : peers_) {
        credits_pending_ = connections_[r]->return_pending_credits() || credits_pending_;
      }
    }
    if (newly_broken) [[unlikely]] {
      poll_mesh();  // the control sockets tell the reason
    }
  }

  // --- making connections

  void throw_if_refused() {
    if (refusal_ && !fault()) [[unlikely]] {
      revoke({failure::cancelled, rank_, rank_});
      throw *refusal_;
    }
  }
  connection* connect(rank_type peer) {
    if (fault()) {
      return nullptr;
    }
    tcp::connection const* const c = mesh_.reach(peer);
    try {
      if (c != nullptr && !connections_[peer]) {
        make(peer);
      }
    } catch (error& e) {
      revoke({failure::cancelled, rank_, rank_});
      throw e.set_ranks(rank_, {rank_});
    }
    poll_mesh();
    throw_if_refused();
    if (c != nullptr && connections_[peer]->is_ready()) {
      return connections_[peer].get();
    }
    if (c != nullptr && mesh_.has_left(peer)) {
      mesh_.lose(peer);
    }
    return nullptr;
  }
  void make(rank_type peer) {
    completions_.reserve(device_, (peers_.size() + 1) * connection::max_completions);
    if (next_memory_.size() == 0) {
      next_memory_ = connection::allocate_memory(device_);
    }
    connections_[peer] =
        std::make_unique<connection>(registrar_, completions_, rank_, peer, std::exchange(next_memory_, {}));
    peers_.push_back(peer);
    keep_mappings_from_children();
  }

  // --- control messages

  void poll_mesh() {
    mesh_.poll();
    expects_control_ = false;
    for (rank_type const r : mesh_.peers()) {
      tcp::connection& c = *mesh_.find(r);
      try {
        while (c.reader.has_whole_message(note_flow.lane)) {
          receive_note(r, c);
        }
      } catch (error& e) {
        refusal_ = e.set_ranks(rank_, {rank_});
      }
      if (connection* const peer_connection = connections_[r].get()) {
        send_note(*peer_connection, r, c);
        expects_control_ =
            expects_control_ || (!peer_connection->is_ready() && !peer_connection->peer_has_left() && !c.is_closed);
      }
    }
  }
  void receive_note(rank_type peer, tcp::connection& c) {
    connection_note n;
    chunk const bytes = c.view(note_flow, {sizeof n, 1, nullptr}, {});
    std::memcpy(&n, bytes.data, sizeof n);
    c.release(note_flow);
    if (!connections_[peer] && n.left == 0 && !leaving_ && !fault()) {
      make(peer);
    }
    if (connections_[peer] && !is_stopped_) {
      connections_[peer]->receive_note(n, infos_[rank_], infos_[peer], options_);
    }
  }
  void send_note(connection& peer_connection, rank_type peer, tcp::connection& c) {
    connection_note const n = peer_connection.note();
    if (peer_connection.has_pending_note() && !is_stopped_ &&
        c.send(note_flow, std::as_bytes(std::span(&n, 1)), sizeof n, {}).is_accepted) {
      peer_connection.mark_note_sent();
      mesh_.watch(peer);
    }
  }
  /// Waits for control messages.
  void wait_for_control() {
    pollfd descriptor{arm(), POLLIN, 0};
    mesh_.poll();
    ::poll(&descriptor, 1, 1);
    disarm();
  }

  // --- leaving

  /// Waits until the peers' kernels have this rank's control messages.
  void flush_control(duration limit) {
    time_point const end = steady_now() + limit;
    do {
      take_completions();
      poll_mesh();
      ::sched_yield();
    } while (!mesh_.is_delivered() && steady_now() < end);
  }

  /// Ends all connections and registrations.
  void stop() noexcept {
    is_stopped_ = true;
    for (rank_type const r : peers_) {
      connections_[r]->queue().stop();
    }
    time_point const end = steady_now() + leave_timeout;
    for (bool wait = true; wait && steady_now() < end;) {
      take_completions();
      wait = std::any_of(peers_.begin(), peers_.end(),
                         [this](rank_type r) { return connections_[r]->queue().has_reads(); });
    }
    for (rank_type const r : peers_) {
      if (connections_[r]->queue().has_reads()) {
        connections_[r]->queue().destroy();  // the device has not returned the READs in time; destruction ends them
      }
      connections_[r]->reclaim(pool_);
    }
  }

  /// Waits until all sent messages have arrived; the device's retries are finite.
  void flush() {
    for (rank_type const r : peers_) {
      if (connections_[r]->is_ready() && !connections_[r]->is_finished()) {
        connections_[r]->queue().flush();
      }
    }
    while (!fault() && std::any_of(peers_.begin(), peers_.end(), [this](rank_type r) {
      return connections_[r]->queue().is_flushing() && !connections_[r]->peer_has_left();
    })) {
      take_completions();
      poll_mesh();
      ::sched_yield();
    }
  }
  void leave() {
    take_completions();
    poll_mesh();
    if (std::any_of(peers_.begin(), peers_.end(), [this](rank_type r) { return connections_[r]->is_in_use(); })) {
      revoke(reason_ ? reason_ : tutti::fault{failure::cancelled, rank_, rank_});
    }
    leaving_ = true;
    if (!fault()) {
      flush();
      for (rank_type const r : peers_) {
        connections_[r]->leave();
      }
    }
    if (!is_stopped_) {
      flush_control(leave_timeout);
      stop();
    }
  }

  [[nodiscard]] static std::uint32_t draw_packet_number() {
    standard_numbers const reserved_numbers;
    return std::random_device{}() & 0xffffffU;
  }

  verbs_options options_;
  rank_type rank_;
  std::uint32_t owner_ = fork_guard::generation();
  std::uint32_t first_packet_ = draw_packet_number();
  device device_;
  registrar registrar_;
  std::unique_ptr<call_board[]> calls_ = std::make_unique<call_board[]>(lane_count);
  registration calls_memory_;
  tcp::mesh mesh_;
  completions completions_;
  piece_pool pool_;
  registered_memory next_memory_;  ///< memory of the next connection; a low limit of locked memory is found at the join
  std::vector<endpoint_info> infos_;
  std::vector<std::unique_ptr<connection>> connections_;
  std::vector<rank_type> peers_;
  open_flow open_flows_[lane_count];
  tutti::fault reason_{};         ///< the fault that makes this rank leave
  std::optional<error> refusal_;  ///< a connection requested by a peer could not be made
  time_point last_probe_{};
  std::uint32_t poll_count_ = 0;
  bool expects_control_ = false;  ///< control messages are expected
  bool credits_pending_ = false;
  bool leaving_ = false;
  bool is_stopped_ = false;
};

}  // namespace tutti::detail::verbs
