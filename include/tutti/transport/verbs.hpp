// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owned.hpp>
#include <tutti/detail/verbs/mesh.hpp>
#include <tutti/rendezvous.hpp>
#include <tutti/transport/concept.hpp>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tutti {

/// Processes anywhere, over RDMA: InfiniBand and RoCE, by a reliable connection for each pair of ranks. It is written
/// for hardware, and has run over Soft-RoCE only.
///
/// A short message is sent into a slot that its receiver has posted, and read there. A long one stays where it is: its
/// receiver's device reads it, straight to its place, or piece by piece if it is combined. The sender needs no turn
/// meanwhile.
///
/// Cost: 880 KiB of locked memory for each peer. A long message's buffer is registered with the device while it is
/// under way.
///
/// Thread safety: one thread at a time; instances are independent.
class verbs {
 public:
  static constexpr std::string_view name = "verbs";
  static constexpr bool in_process = false;
  using options = verbs_options;

  /// Collective over the members of the rendezvous.
  /// @throws error (failure::join) on every rank if one has no device, or the system refuses it memory; and what the
  ///         rendezvous throws
  template <locates_hosts M>
  explicit verbs(M& meet, options const& o = {}) {
    if constexpr (!on_one_host<M>) {
      host_ = meet.local_host();
    }
    detail::rdma::card mine;
    try {
      mesh_ = detail::owned<detail::rdma::mesh>(new detail::rdma::mesh(o, host_, meet.rank(), meet.size()));
      mine = mesh_->mine();
    } catch (error const& e) {
      mine.trouble = e.what();
    }
    std::vector<detail::rdma::card> const all = detail::rdma::cards_of(meet.exchange(mine.text()));
    try {
      mesh_->connect(all);
    } catch (error const& e) {
      mine.trouble = e.what();
    }
    detail::rdma::cards_of(meet.exchange(mine.text()));  // all are ready to receive
  }
  verbs(verbs const&) = delete;
  verbs& operator=(verbs const&) = delete;
  /// Leaves. Peers that still wait for something from this rank get failure::peer_lost.
  ~verbs() {
    if (mesh_ && !mesh_->is_own()) {
      std::ignore = mesh_.release();
    }
  }

  [[nodiscard]] rank_type rank() const noexcept { return mesh_->rank(); }
  [[nodiscard]] rank_type size() const noexcept { return mesh_->size(); }
  /// The number by which other hosts reach this one, for what is made of a part of this world; empty if it is on one
  /// host.
  [[nodiscard]] std::string const& local_host() const noexcept { return host_; }

  void begin(flow s, call const& what) noexcept { mesh_->begin(s, what); }
  void end(flow) noexcept {}

  /// Whether the peer would read these bytes where they are.
  [[nodiscard]] bool shares(rank_type, flow, std::span<std::byte const> bytes) const noexcept {
    return bytes.size() >= detail::rdma::read_from;
  }

  [[nodiscard]] sent send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t) {
    detail::rdma::link& l = mesh_->of(peer);
    if (!l.has_room(s.lane)) {
      mesh_->poll();
    }
    if (fault()) {
      return {};
    }
    sent result;
    try {
      result = l.send(s, mesh_->check(s), bytes);
    } catch (error const&) {
      mesh_->revoke({failure::cancelled, rank(), rank()});
      throw;
    }
    if (!result.accepted) {
      mesh_->poll();
      miss_if_gone(peer);
    }
    return result;
  }
  [[nodiscard]] bool released(rank_type peer, flow s, ticket k) {
    if (!mesh_->of(peer).released(s.lane, k)) {
      mesh_->poll();
      if (!mesh_->of(peer).released(s.lane, k)) {
        miss_if_gone(peer);
        return false;
      }
    }
    return true;
  }

  /// @throws error (failure::mismatch) that shows both calls
  [[nodiscard]] chunk view(rank_type peer, flow s, wanted const& w) {
    chunk c = next(peer, s, w);
    if (!c && !fault()) {
      mesh_->poll();
      c = next(peer, s, w);
      if (!c && !mesh_->of(peer).has_message(s.lane)) {
        miss_if_gone(peer);
      }
    }
    return c;
  }
  void release(rank_type peer, flow s) noexcept { mesh_->of(peer).release(s.lane, mesh_->pool()); }

  /// Reads which calls a peer that is waited for has made; a later inquiry has the answer.
  /// @throws error (failure::mismatch) if it is at the same flow with another call
  void inquire(rank_type peer, flow s) {
    if (fault() || s.lane == transfer_lane) {
      return;
    }
    try {
      mesh_->of(peer).inquire(s, mesh_->check(s), mesh_->call_of(s));
    } catch (error const&) {
      mesh_->revoke({failure::mismatch, peer, rank()});
      throw;
    }
  }
  [[nodiscard]] bool has_left(rank_type peer) noexcept { return mesh_->of(peer).gone(); }

  void poll() noexcept { mesh_->poll(); }
  [[nodiscard]] int arm() noexcept { return mesh_->arm(); }
  void disarm() noexcept { mesh_->disarm(); }
  [[nodiscard]] time_point now() const noexcept { return steady_now(); }

  [[nodiscard]] tutti::fault fault() const noexcept { return mesh_->fault(); }
  /// Asks peers that say nothing whether they are there, ten times a second at most.
  void look() noexcept { mesh_->look(); }
  void revoke(tutti::fault const& why) noexcept { mesh_->revoke(why); }
  /// Takes a second at most.
  void quiesce() noexcept { mesh_->quiesce(); }

 private:
  [[nodiscard]] chunk next(rank_type peer, flow s, wanted const& w) {
    detail::rdma::link& l = mesh_->of(peer);
    if (fault() || !l.has_message(s.lane)) {
      return {};
    }
    try {
      return l.view(s, w, mesh_->check(s), mesh_->call_of(s), mesh_->pool());
    } catch (error const& e) {
      mesh_->revoke(e.kind() == failure::mismatch ? tutti::fault{failure::mismatch, peer, rank()}
                                                  : tutti::fault{failure::cancelled, rank(), rank()});
      throw;
    }
  }
  void miss_if_gone(rank_type peer) noexcept {
    if (mesh_->of(peer).gone()) {
      mesh_->miss(peer);
    }
  }

  std::string host_;
  detail::owned<detail::rdma::mesh> mesh_;
};

}  // namespace tutti
