// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/detail/tcp/mesh.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/verbs/detail/addresses.hpp>
#include <tutti/verbs/detail/edge.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <poll.h>
#include <random>
#include <sched.h>
#include <vector>

namespace tutti::inline v0_1_0::detail::verbs {

/// The edges of one rank, each made when it or the peer first needs it, and what completes on them. Control messages go
/// through sockets, tcp's mesh: what the ends of an edge tell each other, faults, questions and goodbyes. The end of a
/// socket is a death. Neighbours in a ring of all ranks are connected from the start, so no death is unseen.
class edges {
 public:
  edges(verbs_options const& o, net::address const& socket, std::string const& host, rank_type rank, rank_type size)
      : options_(o),
        rank_(rank),
        device_(open_device(o, host)),
        registrar_(device_),
        calls_memory_(device_, reinterpret_cast<std::byte const*>(calls_.get()), lane_count * sizeof(call_board),
                      access::read_by_peers),
        mesh_({}, socket, rank, size),
        completions_(device_, std::min<std::uint64_t>(size, 4) * edge::most_completions),
        next_memory_(size > 1 ? edge::memory_for_one(device_) : registered_memory()),
        by_peer_(size) {
    mesh_.wake_for(completions_.descriptor_number());
    keep_mappings_from_children();
  }
  edges(edges const&) = delete;
  edges& operator=(edges const&) = delete;
  ~edges() { leave(); }

  /// Not so of the copy of a forked child, which takes no part and may lack the memory: it lets go of it.
  [[nodiscard]] bool is_own() const noexcept { return owner_ == inheritance::generation(); }

  /// What the others must know.
  [[nodiscard]] std::string text() const {
    card c;
    c.at = device_.at;
    c.lid = device_.port.lid;
    c.mtu = static_cast<std::uint32_t>(device_.port.active_mtu);
    c.longest = device_.port.max_msg_sz;
    c.reads = static_cast<std::uint32_t>((std::min)(device_.limits.max_qp_rd_atom, 255));
    c.first_packet = first_packet_;
    c.calls = reinterpret_cast<std::uintptr_t>(calls_.get());
    c.calls_key = calls_memory_.remote_key();
    return c.text() + '\n' + tcp::endpoint_info::local(mesh_.listening_address(), {}).text();
  }
  /// Connects to the neighbours.
  /// @throws error(failure::join) that names one that does not answer
  void meet(addresses all) {
    mesh_.meet(tcp::directions_of(all.sockets, mesh_.listening_address()));
    cards_ = std::move(all.cards);
    rank_type const next = (rank_ + 1) % size();
    rank_type const previous = (rank_ + size() - 1) % size();
    time_point const end = steady_now() + join_timeout;
    while (next != rank_ && !fault() && (mesh_.reach(next) == nullptr || mesh_.find(previous) == nullptr)) {
      if (steady_now() > end) {
        rank_type const silent = mesh_.find(next) == nullptr ? next : previous;
        throw error(failure::join,
                    message({"rank ", silent, " does not connect, though it has joined; is it stopped?"}))
            .between(rank_, {silent});
      }
      doze();
    }
  }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(by_peer_.size()); }
  [[nodiscard]] std::size_t count() const noexcept { return made_.size(); }
  [[nodiscard]] tutti::fault const& fault() const noexcept { return mesh_.fault(); }
  [[nodiscard]] tcp::mesh& mesh() noexcept { return mesh_; }
  [[nodiscard]] tcp::mesh const& mesh() const noexcept { return mesh_; }
  [[nodiscard]] piece_pool& pool() noexcept { return pool_; }
  [[nodiscard]] registrar& memory() noexcept { return registrar_; }

  /// The edge to a peer; null while it is not ready, and then it is being made.
  /// @throws error(failure::join) if the system refuses it
  [[nodiscard]] edge* reach(rank_type peer) {
    edge* const e = by_peer_[peer].get();
    return e != nullptr && e->ready() ? e : call_up(peer);
  }
  /// One that has been ready.
  [[nodiscard]] edge& of(rank_type peer) noexcept { return *by_peer_[peer]; }

  void begin(flow s, call const& what) noexcept {
    current& c = current_[s.lane];
    c.check = s.lane == transfer_lane ? s.number : check_of(what, s.number);
    calls_[s.lane].records[c.opened++ % call_board::record_count].write(what, s.number);
    mesh_.calls[s.lane] = {true, s.number, what};
  }
  [[nodiscard]] std::uint32_t current_check(flow s) const noexcept {
    return s.lane == transfer_lane ? s.number : current_[s.lane].check;
  }
  [[nodiscard]] call const& call_of(flow s) const noexcept { return mesh_.calls[s.lane].description; }

  void poll() {
    take_completions();
    if (busy_ || ++turns_ % between_mesh_polls == 0) {
      poll_mesh();
    }
  }
  /// Like poll, and asks also those that say nothing.
  void look() {
    take_completions();
    mesh_.look();
    poll_mesh();
    bool const asks = steady_now() - last_probe_ >= between_probes;
    last_probe_ = asks ? steady_now() : last_probe_;
    for (std::size_t i = 0; i < made_.size() && !fault(); ++i) {
      edge& e = *by_peer_[made_[i]];
      if (e.queue().broken() && !e.left()) {
        mesh_.lose(made_[i]);
      } else if (asks && e.ready() && !e.left()) {
        e.queue().probe();
      }
    }
    if (refused_) {
      revoke({failure::cancelled, rank_, rank_});
    }
  }
  /// Readable when something completes, or a socket has something.
  [[nodiscard]] int arm() {
    completions_.arm();
    return mesh_.arm();
  }
  void disarm() {
    busy_ = !completions_.disarm() || busy_;  // what else would have woken this rank is a socket
    mesh_.disarm();
  }

  /// The first fault takes precedence. Every member is told. A rank that leaves finds no more.
  void revoke(tutti::fault const& why) {
    if (!leaving_) {
      mesh_.revoke(why);
    }
  }
  /// Notes the fault because of which this rank is about to leave.
  void excuse(tutti::fault const& why) noexcept {
    reason_ = why;
    mesh_.excuse(why);
  }
  /// Nothing has come from a peer that is needed: it may be gone, or the way to it.
  /// @throws error that says how, if this rank is the one that knows
  void miss_if_gone(rank_type peer) {
    complain();
    edge const* const e = by_peer_[peer].get();
    if (e == nullptr || !e->gone() || fault()) [[likely]] {
      return;
    }
    poll_mesh();
    bool const failed = e->queue().broken() && !e->left() && !mesh_.has_left(peer);
    mesh_.lose(peer);
    if (failed && fault() == tutti::fault{failure::peer_lost, peer, rank_}) {
      throw error(failure::peer_lost, e->queue().failure_text()).between(rank_, {peer});
    }
  }

  /// Returns when the fault has been told, and neither a peer nor the device works in this rank's memory any more. It
  /// takes a second at most.
  void quiesce() {
    if (fault() && !stopped_) {
      deliver(patience);
      stop();
    }
  }

 private:
  static constexpr duration between_probes = std::chrono::milliseconds(100);
  static constexpr duration patience = std::chrono::milliseconds(500);
  static constexpr std::uint32_t between_mesh_polls = 32;  ///< polls: each costs a system call
  static constexpr flow of_notes{0, 0};

  struct current {
    std::uint32_t check = 0;
    std::uint32_t opened = 0;
  };

  void take_completions() {
    bool broke = false;
    completions_.take([&](ibv_wc const& c) {
      work_id const id = work_id::unpack(c.wr_id);
      edge& e = *by_peer_[id.peer];
      bool const was_broken = e.queue().broken();
      e.complete(id, c);
      if (e.unsound()) [[unlikely]] {
        revoke({failure::protocol, id.peer, rank_});
      }
      broke = broke || e.queue().broken() != was_broken;
      owing_ = owing_ || e.owes();
    });
    if (owing_) [[unlikely]] {
      owing_ = false;
      for (rank_type const r : made_) {
        owing_ = by_peer_[r]->tell_all_released() || owing_;
      }
    }
    if (broke) [[unlikely]] {
      poll_mesh();  // has the reason
    }
  }

  // --- making edges

  void complain() {
    if (refused_ && !fault()) [[unlikely]] {
      revoke({failure::cancelled, rank_, rank_});
      throw *refused_;
    }
  }
  edge* call_up(rank_type peer) {
    if (fault()) {
      return nullptr;
    }
    tcp::connection const* const c = mesh_.reach(peer);
    try {
      if (c != nullptr && !by_peer_[peer]) {
        make(peer);
      }
    } catch (error& e) {
      revoke({failure::cancelled, rank_, rank_});
      throw e.between(rank_, {rank_});
    }
    poll_mesh();
    complain();
    if (c != nullptr && by_peer_[peer]->ready()) {
      return by_peer_[peer].get();
    }
    if (c != nullptr && mesh_.has_left(peer)) {
      mesh_.lose(peer);
    }
    return nullptr;
  }
  void make(rank_type peer) {
    completions_.make_room(device_, (made_.size() + 1) * edge::most_completions);
    if (next_memory_.size() == 0) {
      next_memory_ = edge::memory_for_one(device_);
    }
    by_peer_[peer] = std::make_unique<edge>(registrar_, completions_, rank_, peer, std::exchange(next_memory_, {}));
    made_.push_back(peer);
    keep_mappings_from_children();
  }

  // --- control messages

  void poll_mesh() {
    mesh_.poll();
    busy_ = false;
    for (rank_type const r : mesh_.peers()) {
      tcp::connection& c = *mesh_.find(r);
      try {
        while (c.reader.has_whole_message(of_notes.lane)) {
          hear_note(r, c);
        }
      } catch (error& e) {
        refused_ = e.between(rank_, {rank_});
      }
      if (edge* const e = by_peer_[r].get()) {
        tell(*e, r, c);
        busy_ = busy_ || (!e->ready() && !e->left() && !c.is_closed);
      }
    }
  }
  void hear_note(rank_type peer, tcp::connection& c) {
    edge_note n;
    chunk const got = c.view(of_notes, {sizeof n, 1, nullptr}, {});
    std::memcpy(&n, got.data, sizeof n);
    c.release(of_notes);
    if (!by_peer_[peer] && n.left == 0 && !leaving_ && !fault()) {
      make(peer);
    }
    if (by_peer_[peer] && !stopped_) {
      by_peer_[peer]->hear(n, cards_[rank_], cards_[peer], options_);
    }
  }
  void tell(edge& e, rank_type peer, tcp::connection& c) {
    edge_note const n = e.note();
    if (e.owes_note() && !stopped_ && c.send(of_notes, std::as_bytes(std::span(&n, 1)), sizeof n, {}).accepted) {
      e.told_note();
      mesh_.watch(peer);
    }
  }
  /// Waits for control messages.
  void doze() {
    pollfd one{arm(), POLLIN, 0};
    mesh_.poll();
    ::poll(&one, 1, 1);
    disarm();
  }

  // --- the end

  /// Waits until the peers' systems have what this rank has told them.
  void deliver(duration limit) {
    time_point const end = steady_now() + limit;
    do {
      take_completions();
      poll_mesh();
      ::sched_yield();
    } while (!mesh_.is_delivered() && steady_now() < end);
  }

  /// Ends all edges and takes memory back.
  void stop() noexcept {
    stopped_ = true;
    for (rank_type const r : made_) {
      by_peer_[r]->queue().stop();
    }
    time_point const end = steady_now() + patience;
    for (bool wait = true; wait && steady_now() < end;) {
      take_completions();
      wait = std::any_of(made_.begin(), made_.end(), [this](rank_type r) { return by_peer_[r]->queue().reads(); });
    }
    for (rank_type const r : made_) {
      if (by_peer_[r]->queue().reads()) {
        by_peer_[r]->queue().destroy();  // the device has not given it back in time, and has to now
      }
      by_peer_[r]->take_back(pool_);
    }
  }

  /// What was sent must arrive, and retries are finite.
  void flush() {
    for (rank_type const r : made_) {
      if (by_peer_[r]->ready() && !by_peer_[r]->gone()) {
        by_peer_[r]->queue().flush();
      }
    }
    while (!fault() && std::any_of(made_.begin(), made_.end(), [this](rank_type r) {
      return by_peer_[r]->queue().flushes() && !by_peer_[r]->left();
    })) {
      take_completions();
      poll_mesh();
      ::sched_yield();
    }
  }
  void leave() {
    take_completions();
    poll_mesh();
    if (std::any_of(made_.begin(), made_.end(), [this](rank_type r) { return by_peer_[r]->is_in_use(); })) {
      revoke(reason_ ? reason_ : tutti::fault{failure::cancelled, rank_, rank_});
    }
    leaving_ = true;
    if (!fault()) {
      flush();
      for (rank_type const r : made_) {
        by_peer_[r]->leave();
      }
    }
    if (!stopped_) {
      deliver(patience);
      stop();
    }
  }

  [[nodiscard]] static std::uint32_t draw_packet_number() {
    standard_numbers const occupied;
    return std::random_device{}() & 0xffffffU;
  }

  verbs_options options_;
  rank_type rank_;
  std::uint32_t owner_ = inheritance::generation();
  std::uint32_t first_packet_ = draw_packet_number();
  device device_;
  registrar registrar_;
  std::unique_ptr<call_board[]> calls_ = std::make_unique<call_board[]>(lane_count);
  registration calls_memory_;
  tcp::mesh mesh_;
  completions completions_;
  piece_pool pool_;
  registered_memory next_memory_;  ///< of the next edge: a rank that may not lock so much finds out when it joins
  std::vector<card> cards_;
  std::vector<std::unique_ptr<edge>> by_peer_;
  std::vector<rank_type> made_;
  current current_[lane_count];
  tutti::fault reason_{};         ///< because of which this rank leaves
  std::optional<error> refused_;  ///< an edge that a peer has asked for could not be made
  time_point last_probe_{};
  std::uint32_t turns_ = 0;
  bool busy_ = false;  ///< control messages are expected
  bool owing_ = false;
  bool leaving_ = false;
  bool stopped_ = false;
};

}  // namespace tutti::detail::verbs
