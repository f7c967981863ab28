// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/shared_memory/shared_arena.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/verbs/detail/connections.hpp>
#include <tutti/verbs/detail/private_file.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tutti::inline v0_1_0 {

/// A transport over RDMA, InfiniBand and RoCE, between processes on any hosts. A reliable connection is made when it
/// is first needed, so a rank has one for each edge of its schedules. Faults and control messages use TCP sockets.
/// docs/guide/proven.md lists the devices that have run it.
///
/// A short message is eager: it is sent into a slot that its receiver has posted. A long message is a rendezvous: its
/// receiver's device reads it from the sender's memory, directly to its target, or piece by piece if it is combined.
/// The sender makes no calls meanwhile.
///
/// Cost: 864 KiB of locked memory for each connected peer. A long message's buffer is registered with the device
/// while it is under way; a buffer of tutti::allocator is registered once, when it is first used.
/// Thread safety: one thread at a time; instances are independent.
class verbs {
 public:
  /// The name of the transport in errors and traces.
  static constexpr std::string_view name = "verbs";
  /// True if `spawn` starts ranks as threads of this process, false if as processes.
  static constexpr bool in_process = false;
  /// The options with which the transport may be opened; see `open_transport`.
  using options = verbs_options;

  /// Collective over the members of the rendezvous.
  /// @throws error (failure::join) on every rank if one has no device, or may not lock its memory; also the errors of
  /// the rendezvous
  template <locates_hosts M>
  explicit verbs(M& meet, options const& settings = {}) {
    expects(settings.timeout >= 1 && settings.timeout <= 31, "verbs_options::timeout must be 1 to 31, not ",
            int{settings.timeout});
    expects(settings.piece != 0, "verbs_options::piece must be 1 byte or more, not 0");
    std::string host;
    if constexpr (!on_one_host<M>) {
      host = meet.local_host();
    }
    world_secret const secret = detail::secret_of(meet);
    std::string local_info;
    try {
      connections_ = detail::owner<detail::verbs::connections>(
          new detail::verbs::connections(settings, detail::tcp::own_address(meet, {}), host, meet.rank(), meet.size()));
      local_info = connections_->text(secret);
    } catch (error const& e) {
      local_info = detail::verbs::endpoint_info::refusal(e.what());
    }
    std::vector<std::string> const texts = meet.exchange(local_info);
    detail::tcp::expect_own_text(texts, meet.rank(), local_info);
    auto infos = detail::verbs::addresses::parse(texts);
    memory_ = memory_for(meet);
    adopt(memory_);
    connections_->meet(std::move(infos), secret);
  }
  verbs(verbs const&) = delete;
  verbs& operator=(verbs const&) = delete;
  /// Leaves. Peers that still wait for this rank get failure::peer_lost.
  ~verbs() {
    if (connections_ && !connections_->is_own()) {
      std::ignore = connections_.release();
    }
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept { return connections_->rank(); }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return connections_->size(); }
  /// The number by which other members reach this host; worlds that are split from this one use it.
  [[nodiscard]] std::string local_host() const { return connections_->mesh().listening_address().host(); }

  /// Opens a flow for a call; at most one is open on a lane.
  void begin(flow s, call const& call_info) noexcept { connections_->begin(s, call_info); }
  /// Closes a flow; all its messages have been released.
  void end(flow) noexcept {}

  /// True if the peer would read these bytes in place.
  [[nodiscard]] bool shares(rank_type, flow, std::span<std::byte const> bytes) const noexcept {
    return bytes.size() >= detail::verbs::rendezvous_threshold;
  }

  /// The source of tutti::allocator's buffers, which are registered once. A buffer may outlive the transport; its
  /// registration does not.
  [[nodiscard]] intrusive_pointer<memory_source> memory() const noexcept { return memory_; }
  /// Registers memory of this source once, too.
  void adopt(intrusive_pointer<memory_source> s) { connections_->memory().adopt(std::move(s)); }

  /// Offers a message, or the rest of one, and returns how many bytes were accepted; never waits.
  [[nodiscard]] send_result send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t) {
    return submit(peer, s, [&](detail::verbs::connection& peer_connection) {
      return peer_connection.send(s, connections_->current_check(s), bytes);
    });
  }
  /// Sends a long message, whose receiver may write its result to `back`.
  [[nodiscard]] send_result lend(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t,
                                 std::byte* back) {
    return submit(peer, s, [&](detail::verbs::connection& peer_connection) {
      return peer_connection.may_lend(bytes.size())
                 ? peer_connection.lend(s, connections_->current_check(s), bytes, back)
                 : peer_connection.send(s, connections_->current_check(s), bytes);
    });
  }
  /// Sends the result of a message that the peer lent: to the peer's `back` if that is possible, otherwise like
  /// `send`.
  [[nodiscard]] send_result give_back(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t) {
    return submit(peer, s, [&](detail::verbs::connection& peer_connection) {
      return peer_connection.has_loan(s, bytes.size()) ? peer_connection.give_back(s, bytes)
                                                       : peer_connection.send(s, connections_->current_check(s), bytes);
    });
  }
  /// Returns null: only the device accesses a peer's memory.
  [[nodiscard]] std::byte* result_place(rank_type, flow) const noexcept { return nullptr; }
  /// True if the buffer sent under this ticket is free.
  /// @throws error (failure::peer_lost) with the state of the failed connection; send and view throw it, too
  [[nodiscard]] bool is_released(rank_type peer, flow s, ticket release_ticket) {
    detail::verbs::connection const& peer_connection = connections_->connection_to(peer);
    if (!peer_connection.is_released(s.lane, release_ticket)) {
      connections_->poll();
      if (!peer_connection.is_released(s.lane, release_ticket)) {
        connections_->check_peer(peer);
        return false;
      }
    }
    return true;
  }

  /// Returns the next chunk of a peer's message, or an empty one if nothing has arrived.
  /// @throws error (failure::mismatch) that shows both calls
  [[nodiscard]] chunk view(rank_type peer, flow s, receive_request const& request) {
    detail::verbs::connection* const peer_connection = connections_->reach(peer);
    if (peer_connection == nullptr) {
      return {};
    }
    chunk c = next(*peer_connection, peer, s, request);
    if (!c && !fault()) {
      connections_->poll();
      c = next(*peer_connection, peer, s, request);
      if (!c && (peer_connection->queue().is_broken() || !peer_connection->has_message(s.lane))) {
        connections_->check_peer(peer);
      }
    }
    return c;
  }
  /// True if the next message of a peer on this lane has begun to arrive.
  [[nodiscard]] bool has_message(rank_type peer, flow s) {
    detail::verbs::connection const* const peer_connection = connections_->reach(peer);
    if (peer_connection != nullptr && !peer_connection->has_message(s.lane)) {
      connections_->poll();
    }
    return peer_connection != nullptr && peer_connection->has_message(s.lane);
  }
  /// Frees the chunk that `view` returned.
  void release(rank_type peer, flow s) noexcept {
    connections_->connection_to(peer).release(s.lane, connections_->pool());
  }

  /// Queries a peer's call, to find a mismatch; a later inquiry evaluates the answer.
  /// @throws error (failure::mismatch) if the peer is at this flow with another call
  void detect_mismatch(rank_type peer, flow s) { connections_->mesh().detect_mismatch(peer, s); }
  /// True if a peer, from which no message is expected, is known to have left or died.
  [[nodiscard]] bool has_left(rank_type peer) { return connections_->mesh().has_left(peer); }
  /// Publishes this rank's wait state to ranks that have queried it.
  void publish_wait(wait_report const& w) { connections_->mesh().publish_wait(w); }
  /// Queries a peer's wait state; false while the peer cannot be reached.
  [[nodiscard]] bool query_wait(rank_type peer) { return connections_->mesh().query_wait(peer); }
  /// The last report of a rank, this one included, of its wait on a lane.
  [[nodiscard]] wait_report reported_wait(rank_type r, std::uint32_t lane) const noexcept {
    return connections_->mesh().reported_wait(r, lane);
  }

  /// Makes progress; never waits.
  void poll() { connections_->poll(); }
  /// Returns a descriptor that becomes readable when there may be something to do; poll once more, then sleep.
  [[nodiscard]] int arm() { return connections_->arm(); }
  /// Counterpart of `arm`.
  void disarm() { connections_->disarm(); }
  /// The time by the clock of the transport.
  [[nodiscard]] time_point now() const noexcept { return steady_now(); }

  /// The fault of this world, or none. Cheap: waiting ranks call it often.
  [[nodiscard]] tutti::fault fault() const noexcept { return connections_->fault(); }
  /// Probes silent peers, at most ten times a second.
  void probe() { connections_->probe(); }
  /// Announces a fault to every member; the first fault of a world wins.
  void revoke(tutti::fault const& reason) { connections_->revoke(reason); }
  /// Tells the other ranks why this one leaves: a fault in another communicator of its world.
  void announce_departure(tutti::fault const& reason) { connections_->announce_departure(reason); }
  /// The address of a peer, for errors; empty if there is none.
  [[nodiscard]] std::string describe_address(rank_type peer) const {
    return connections_->mesh().describe_address(peer);
  }
  /// Returns when neither peers nor the device access this rank's memory any more, after a second at most.
  void quiesce() { connections_->quiesce(); }

  /// Number of peers with a queue pair.
  [[nodiscard]] std::size_t connections() const noexcept { return connections_->count(); }
  /// Refused connections of the control sockets, and other unusual events, for reports; at most a few dozen.
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return connections_->mesh().incidents(); }

 private:
  /// Returns the memory source of the world that is split, or a new one.
  template <class M>
  [[nodiscard]] static intrusive_pointer<memory_source> memory_for([[maybe_unused]] M& meet) {
    if constexpr (requires {
                    { meet.transport() } -> std::same_as<verbs&>;
                  }) {
      return meet.transport().memory();
    } else {
      auto arena = detail::basic_shared_arena<detail::verbs::private_file>::create();
      detail::window_table table(arena->file.base(), 1);
      table.construct(0);
      arena->set_table(table, 0, SIZE_MAX);
      return arena;
    }
  }
  template <class F>
  [[nodiscard]] send_result submit(rank_type peer, flow s, F const& f) {
    detail::verbs::connection* const peer_connection = connections_->reach(peer);
    if (peer_connection != nullptr && !peer_connection->has_room(s.lane)) {
      connections_->poll();
    }
    if (peer_connection == nullptr || fault()) {
      return {};
    }
    send_result result;
    try {
      result = f(*peer_connection);
    } catch (error const&) {
      connections_->revoke({failure::cancelled, rank(), rank()});
      throw;
    }
    if (!result.is_accepted) {
      connections_->poll();
      connections_->check_peer(peer);
    }
    return result;
  }
  [[nodiscard]] chunk next(detail::verbs::connection& peer_connection, rank_type peer, flow s,
                           receive_request const& request) {
    if (fault() || !peer_connection.has_message(s.lane)) {
      return {};
    }
    try {
      return peer_connection.view(s, request, connections_->current_check(s), connections_->call_of(s),
                                  connections_->pool());
    } catch (error const& failure_error) {
      connections_->revoke(failure_error.kind() == failure::mismatch
                               ? tutti::fault{failure::mismatch, peer, rank()}
                               : tutti::fault{failure::cancelled, rank(), rank()});
      throw;
    }
  }

  detail::owner<detail::verbs::connections> connections_;
  intrusive_pointer<memory_source> memory_;
};

static_assert(transport<verbs> && detects_mismatch<verbs> && reports_waits<verbs> && shares_memory<verbs>);
static_assert(provides_memory<verbs> && registers_memory<verbs> && lends<verbs>);

}  // namespace tutti
