// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owned.hpp>
#include <tutti/detail/shared_memory/shared_arena.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/verbs/detail/edges.hpp>
#include <tutti/verbs/detail/private_file.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Processes anywhere, over RDMA: InfiniBand and RoCE. Reliable connections are made when they are first needed, so
/// there are as many as the schedules have edges; faults and questions go through sockets. It is written for hardware,
/// and has run over Soft-RoCE only.
///
/// A short message is sent into a slot that its receiver has posted, and read there. A long one stays where it is: its
/// receiver's device reads it, straight to its place, or piece by piece if it is combined. The sender needs no turn
/// meanwhile.
///
/// Cost: 864 KiB of locked memory for each peer with a connection. A long message's buffer is registered with the
/// device while it is under way; what tutti::allocator gives is once, when it is first sent from or received in.
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
  /// @throws error (failure::join) on every rank if one has no device, or the system refuses it memory; and what the
  ///         rendezvous throws
  template <locates_hosts M>
  explicit verbs(M& meet, options const& o = {}) {
    expects(o.timeout >= 1 && o.timeout <= 31, "verbs_options::timeout must be 1 to 31, not ", int{o.timeout});
    expects(o.piece != 0, "verbs_options::piece must be 1 byte or more, not 0");
    std::string host;
    if constexpr (!on_one_host<M>) {
      host = meet.local_host();
    }
    std::string mine;
    try {
      edges_ = detail::owned<detail::verbs::edges>(
          new detail::verbs::edges(o, detail::tcp::own_address(meet, {}), host, meet.rank(), meet.size()));
      mine = edges_->text();
    } catch (error const& e) {
      mine = detail::verbs::card::refusal(e.what());
    }
    auto all = detail::verbs::addresses::parse(meet.exchange(mine));
    memory_ = memory_for(meet);
    adopt(memory_);
    edges_->meet(std::move(all));
  }
  verbs(verbs const&) = delete;
  verbs& operator=(verbs const&) = delete;
  /// Leaves. Peers that still wait for something from this rank get failure::peer_lost.
  ~verbs() {
    if (edges_ && !edges_->is_own()) {
      std::ignore = edges_.release();
    }
  }

  /// The number of this rank.
  [[nodiscard]] rank_type rank() const noexcept { return edges_->rank(); }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const noexcept { return edges_->size(); }
  /// By which number the other members reach this host, for what is made of a part of this world.
  [[nodiscard]] std::string local_host() const { return edges_->mesh().listening_address().host(); }

  /// Opens a flow, as part of a call; at most one is open on a lane.
  void begin(flow s, call const& what) noexcept { edges_->begin(s, what); }
  /// Closes a flow whose messages are all done with.
  void end(flow) noexcept {}

  /// Whether the peer would read these bytes where they are.
  [[nodiscard]] bool shares(rank_type, flow, std::span<std::byte const> bytes) const noexcept {
    return bytes.size() >= detail::verbs::read_from;
  }

  /// Where tutti::allocator takes buffers from that are registered once. A buffer may outlive the transport; its
  /// registration does not.
  [[nodiscard]] counted<memory_source> memory() const noexcept { return memory_; }
  /// Memory of this source is registered once, too.
  void adopt(counted<memory_source> s) { edges_->memory().adopt(std::move(s)); }

  /// Offers a message, or the rest of one, and returns how many bytes were accepted; never waits.
  [[nodiscard]] sent send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t) {
    return hand_over(peer, s, [&](detail::verbs::edge& e) { return e.send(s, edges_->current_check(s), bytes); });
  }
  /// The peer reads a long message where it is, and writes what it makes of it to `back`.
  [[nodiscard]] sent lend(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t, std::byte* back) {
    return hand_over(peer, s, [&](detail::verbs::edge& e) {
      return e.may_lend(bytes.size()) ? e.lend(s, edges_->current_check(s), bytes, back)
                                      : e.send(s, edges_->current_check(s), bytes);
    });
  }
  /// Offers bytes that the peer has lent, like `send`; they go to where it wants them, if that can be.
  [[nodiscard]] sent give_back(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t) {
    return hand_over(peer, s, [&](detail::verbs::edge& e) {
      return e.holds(s, bytes.size()) ? e.give_back(s, bytes) : e.send(s, edges_->current_check(s), bytes);
    });
  }
  /// Null: a peer's memory is reached by the device alone.
  [[nodiscard]] std::byte* home(rank_type, flow) const noexcept { return nullptr; }
  /// @throws error (failure::peer_lost) that says how the edge to a peer has failed; so do send and view
  [[nodiscard]] bool released(rank_type peer, flow s, ticket k) {
    detail::verbs::edge const& e = edges_->of(peer);
    if (!e.released(s.lane, k)) {
      edges_->poll();
      if (!e.released(s.lane, k)) {
        edges_->miss_if_gone(peer);
        return false;
      }
    }
    return true;
  }

  /// @throws error (failure::mismatch) that shows both calls
  [[nodiscard]] chunk view(rank_type peer, flow s, wanted const& w) {
    detail::verbs::edge* const e = edges_->reach(peer);
    if (e == nullptr) {
      return {};
    }
    chunk c = next(*e, peer, s, w);
    if (!c && !fault()) {
      edges_->poll();
      c = next(*e, peer, s, w);
      if (!c && (e->queue().broken() || !e->has_message(s.lane))) {
        edges_->miss_if_gone(peer);
      }
    }
    return c;
  }
  /// Gives back what `view` has shown.
  void release(rank_type peer, flow s) noexcept { edges_->of(peer).release(s.lane, edges_->pool()); }

  /// Asks a peer that is waited for in which call it is; a later inquiry has the answer.
  /// @throws error (failure::mismatch) if it is at the same flow with another call
  void inquire(rank_type peer, flow s) { edges_->mesh().inquire(peer, s); }
  /// True if a peer, from which no message is expected, is known to have left or died.
  [[nodiscard]] bool has_left(rank_type peer) { return edges_->mesh().has_left(peer); }
  /// Tells ranks that have asked since what this rank waits for.
  void say(wait_report const& w) { edges_->mesh().say(w); }
  /// Asks a peer what it waits for; false as long as it cannot be reached.
  [[nodiscard]] bool ask(rank_type peer) { return edges_->mesh().ask(peer); }
  /// The last report of a rank, this one included, of what it waits for on a lane.
  [[nodiscard]] wait_report said(rank_type r, std::uint32_t lane) const noexcept {
    return edges_->mesh().said(r, lane);
  }

  /// Advances what is under way; never waits.
  void poll() { edges_->poll(); }
  /// Returns a descriptor that becomes readable when there may be something to do; poll once more, then sleep.
  [[nodiscard]] int arm() { return edges_->arm(); }
  /// Ends what `arm` began.
  void disarm() { edges_->disarm(); }
  /// The time by the clock of the transport.
  [[nodiscard]] time_point now() const noexcept { return steady_now(); }

  /// The fault of this world, if there is one; cheap, as it is asked for while waiting.
  [[nodiscard]] tutti::fault fault() const noexcept { return edges_->fault(); }
  /// Asks peers that say nothing whether they are there, ten times a second at most.
  void look() { edges_->look(); }
  /// Makes a fault known to every member; the first one takes precedence.
  void revoke(tutti::fault const& why) { edges_->revoke(why); }
  /// Tells the other ranks why this one leaves: a fault in another communicator of its world.
  void excuse(tutti::fault const& why) { edges_->excuse(why); }
  /// The address of a peer, for errors; empty if there is none.
  [[nodiscard]] std::string place_of(rank_type peer) const { return edges_->mesh().place_of(peer); }
  /// Takes a second at most.
  void quiesce() { edges_->quiesce(); }

  /// How many peers this rank has a queue pair for.
  [[nodiscard]] std::size_t connections() const noexcept { return edges_->count(); }
  /// What was refused at the sockets for control messages, and other odd events: for reports, at most a few dozen.
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return edges_->mesh().incidents(); }

 private:
  /// A part of a world has its memory.
  template <class M>
  [[nodiscard]] static counted<memory_source> memory_for([[maybe_unused]] M& meet) {
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
  [[nodiscard]] sent hand_over(rank_type peer, flow s, F const& f) {
    detail::verbs::edge* const e = edges_->reach(peer);
    if (e != nullptr && !e->has_room(s.lane)) {
      edges_->poll();
    }
    if (e == nullptr || fault()) {
      return {};
    }
    sent result;
    try {
      result = f(*e);
    } catch (error const&) {
      edges_->revoke({failure::cancelled, rank(), rank()});
      throw;
    }
    if (!result.accepted) {
      edges_->poll();
      edges_->miss_if_gone(peer);
    }
    return result;
  }
  [[nodiscard]] chunk next(detail::verbs::edge& e, rank_type peer, flow s, wanted const& w) {
    if (fault() || !e.has_message(s.lane)) {
      return {};
    }
    try {
      return e.view(s, w, edges_->current_check(s), edges_->call_of(s), edges_->pool());
    } catch (error const& wrong) {
      edges_->revoke(wrong.kind() == failure::mismatch ? tutti::fault{failure::mismatch, peer, rank()}
                                                       : tutti::fault{failure::cancelled, rank(), rank()});
      throw;
    }
  }

  detail::owned<detail::verbs::edges> edges_;
  counted<memory_source> memory_;
};

static_assert(transport<verbs> && inquires<verbs> && answers<verbs> && shares_memory<verbs>);
static_assert(provides_memory<verbs> && registers_memory<verbs> && lends<verbs>);

}  // namespace tutti
